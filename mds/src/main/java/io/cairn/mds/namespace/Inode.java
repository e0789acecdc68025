package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Truncation;
import java.util.List;

/**
 * An inode in memory. Entries change copies made by {@link StateTx#edit}; once committed an
 * instance is shared with the cache and with readers and never changes again.
 */
final class Inode {
    final long id;
    int mode;
    int nlink;
    int uid;
    int gid;
    int rdev;

    /** Bytes of a regular file or a symbolic link's target; entries of a directory. */
    long size;

    Time atime = Time.EPOCH;
    Time mtime = Time.EPOCH;
    Time ctime = Time.EPOCH;
    Time btime = Time.EPOCH;
    long change;

    /** Sessions that hold it open. */
    int openers;

    /** Bytes of names and values of its extended attributes. */
    int xattrBytes;

    /** Bytes that listing its extended attributes takes, a NUL after each name included. */
    int xattrListBytes;

    /** Of regular files; of directories, what new files and directories in them get. */
    FileLayout layout = FileLayout.getDefaultInstance();

    /** Regular files: no chunk data exists at or beyond it. */
    long ceiling;

    /** Regular files: sequence of the newest shrink. */
    long truncateSequence;

    /** Regular files: shrinks not applied everywhere, oldest first. */
    List<Truncation> truncations = List.of();

    /**
     * Regular files: a session that held it open ended without publishing what it may have written
     * beyond the size. Not yet cut, as others who hold it open may have written there too.
     */
    boolean leftovers;

    /** Directories: the directory it is in; the root is in itself. */
    long parent;

    /** Directories: the cursor of the next entry. */
    long nextSequence;

    /** Symbolic links. */
    ByteString target = ByteString.EMPTY;

    Inode(long id) {
        this.id = id;
    }

    Inode copy() {
        Inode copy = new Inode(id);
        copy.mode = mode;
        copy.nlink = nlink;
        copy.uid = uid;
        copy.gid = gid;
        copy.rdev = rdev;
        copy.size = size;
        copy.atime = atime;
        copy.mtime = mtime;
        copy.ctime = ctime;
        copy.btime = btime;
        copy.change = change;
        copy.openers = openers;
        copy.xattrBytes = xattrBytes;
        copy.xattrListBytes = xattrListBytes;
        copy.layout = layout;
        copy.ceiling = ceiling;
        copy.truncateSequence = truncateSequence;
        copy.truncations = truncations;
        copy.leftovers = leftovers;
        copy.parent = parent;
        copy.nextSequence = nextSequence;
        copy.target = target;
        return copy;
    }

    boolean isDirectory() {
        return Mode.isDirectory(mode);
    }

    boolean isRegular() {
        return Mode.isRegular(mode);
    }

    /** Its status changed at this time. */
    void touch(Time time) {
        ctime = time;
        change++;
    }

    /** Its contents changed at this time. */
    void modify(Time time) {
        mtime = time;
        touch(time);
    }

    Attr toAttr() {
        Attr.Builder attr =
                Attr.newBuilder()
                        .setInode(id)
                        .setMode(mode)
                        .setNlink(nlink)
                        .setUid(uid)
                        .setGid(gid)
                        .setRdev(rdev)
                        .setSize(size)
                        .setAtime(atime.toProto())
                        .setMtime(mtime.toProto())
                        .setCtime(ctime.toProto())
                        .setBtime(btime.toProto())
                        .setChange(change);
        if (isRegular()) {
            attr.setLayout(layout)
                    .setSizeCeiling(ceiling)
                    .setTruncateSequence(truncateSequence)
                    .addAllPendingTruncations(truncations);
        } else if (isDirectory()) {
            attr.setLayout(layout).setParent(parent);
        }
        return attr.build();
    }
}
