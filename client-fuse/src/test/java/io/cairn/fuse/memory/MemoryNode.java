package io.cairn.fuse.memory;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Timespec;
import java.time.Instant;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** An inode. Guarded by the client's lock, its content excepted. */
final class MemoryNode {
    static final int TYPE = 0xf000;
    static final int DIRECTORY = 0x4000;
    static final int REGULAR = 0x8000;
    static final int SYMLINK = 0xa000;
    static final int SET_UID = 04000;
    static final int SET_GID = 02000;
    static final int GROUP_EXEC = 010;

    final long inode;
    int mode;
    int nlink = 1;
    int uid;
    int gid;
    int rdev;
    long size;
    Timespec atime = now();
    Timespec mtime = atime;
    Timespec ctime = atime;
    final Timespec btime = atime;
    long change = 1;
    long parent;
    byte[] target = new byte[0];
    final MemoryContent content = new MemoryContent();
    final TreeMap<MemoryName, byte[]> xattrs = new TreeMap<>();

    /** Of a directory: name to entry, and the entries by cursor. */
    final TreeMap<MemoryName, Entry> entries = new TreeMap<>();

    final TreeMap<Long, Entry> byCursor = new TreeMap<>();
    long lastCursor;

    record Entry(MemoryName name, MemoryNode node, long cursor) {}

    MemoryNode(long inode, int mode) {
        this.inode = inode;
        this.mode = mode;
    }

    static Timespec now() {
        Instant now = Instant.now();
        return Timespec.newBuilder()
                .setSeconds(now.getEpochSecond())
                .setNanos(now.getNano())
                .build();
    }

    boolean isDirectory() {
        return (mode & TYPE) == DIRECTORY;
    }

    void changed() {
        change++;
        ctime = now();
    }

    void contentChanged() {
        changed();
        mtime = ctime;
    }

    void killPrivileges() {
        if (!isDirectory()) {
            mode &= ~SET_UID;
            if ((mode & GROUP_EXEC) != 0) {
                mode &= ~SET_GID;
            }
        }
    }

    void put(MemoryName name, MemoryNode child) {
        Entry entry = new Entry(name, child, ++lastCursor);
        entries.put(name, entry);
        byCursor.put(entry.cursor, entry);
        if (child.isDirectory()) {
            child.parent = inode;
            nlink++;
        }
        contentChanged();
    }

    void drop(MemoryName name) {
        @Nullable Entry entry = entries.remove(name);
        if (entry != null) {
            byCursor.remove(entry.cursor);
            if (entry.node.isDirectory()) {
                nlink--;
            }
            contentChanged();
        }
    }

    Attr attr() {
        Attr.Builder attr =
                Attr.newBuilder()
                        .setInode(inode)
                        .setMode(mode)
                        .setNlink(nlink)
                        .setUid(uid)
                        .setGid(gid)
                        .setRdev(rdev)
                        .setSize((mode & TYPE) == SYMLINK ? target.length : size)
                        .setAtime(atime)
                        .setMtime(mtime)
                        .setCtime(ctime)
                        .setBtime(btime)
                        .setChange(change);
        if (isDirectory()) {
            attr.setParent(parent);
        } else {
            attr.setLayout(FileLayout.newBuilder().setStripeUnit(4 << 20));
        }
        return attr.build();
    }
}
