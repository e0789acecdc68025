package io.cairn.mds.store;

import com.google.protobuf.ByteString;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Truncation;
import java.util.List;

/**
 * An inode in memory. Entries change copies made by {@link StateTx#edit}; once committed an
 * instance is shared with the cache and with readers and never changes again.
 */
public final class Inode {
    public final long id;
    public int mode;
    public int nlink;
    public int uid;
    public int gid;
    public int rdev;

    /** Bytes of a regular file or a symbolic link's target; entries of a directory. */
    public long size;

    public Time atime = Time.EPOCH;
    public Time mtime = Time.EPOCH;
    public Time ctime = Time.EPOCH;
    public Time btime = Time.EPOCH;
    public long change;

    /** Sessions that hold it open. */
    public int openers;

    /** Bytes of names and values of its extended attributes. */
    public int xattrBytes;

    /** Bytes that listing its extended attributes takes, a NUL after each name included. */
    public int xattrListBytes;

    /** Of regular files; of directories, what new files and directories in them get. */
    public FileLayout layout = FileLayout.getDefaultInstance();

    /** Regular files: no chunk data exists at or beyond it. */
    public long ceiling;

    /**
     * Regular files: the newest sequence, of a shrink or of what makes chunks refuse old requests.
     */
    public long truncateSequence;

    /** Regular files: shrinks not applied everywhere, oldest first. */
    public List<Truncation> truncations = List.of();

    /**
     * Regular files: a session that held it open ended without publishing what it may have written
     * beyond the size. Not yet cut, as others who hold it open may have written there too.
     */
    public boolean leftovers;

    /**
     * Regular files: the session that may append to it, one of those that hold it open; 0: none.
     */
    public long appender;

    /** Regular files: sequence of the newest shrink; later ones are fences and their ends. */
    public long cutSequence;

    /** Regular files: the session that moves it into another pool; 0: none. */
    public long mover;

    /** Regular files: the pool that the mover copies it into; 0: none. */
    public int movingPool;

    /** Regular files: its newest truncation is a fence, under which the mover copies the rest. */
    public boolean fenced;

    /**
     * Regular files: pools that it was moved out of, or was to be moved into, and in which truncate
     * sequences of its chunks are left.
     */
    public List<Integer> formerPools = List.of();

    /** Regular files: somebody has locked it, at some time; else it has no locks. */
    public boolean wasLocked;

    /** Directories: the directory it is in; the root is in itself. */
    public long parent;

    /** Directories: the cursor of the next entry. */
    public long nextSequence;

    /** Symbolic links. */
    public ByteString target = ByteString.EMPTY;

    public Inode(long id) {
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
        copy.appender = appender;
        copy.cutSequence = cutSequence;
        copy.mover = mover;
        copy.movingPool = movingPool;
        copy.fenced = fenced;
        copy.formerPools = formerPools;
        copy.wasLocked = wasLocked;
        copy.parent = parent;
        copy.nextSequence = nextSequence;
        copy.target = target;
        return copy;
    }

    public boolean isDirectory() {
        return Mode.isDirectory(mode);
    }

    public boolean isRegular() {
        return Mode.isRegular(mode);
    }

    /**
     * Its status changed at this time, by the clock of a client: clocks differ, but each change has
     * a later ctime than the one before it.
     */
    public void touch(Time time) {
        ctime = Time.latest(time, ctime.next());
        change++;
    }

    /** Its contents changed at this time; the mtime is of our choosing and follows the ctime. */
    public void modify(Time time) {
        touch(time);
        mtime = ctime;
    }

    /** As clients are told. */
    public Attr toAttr() {
        return told().build();
    }

    /**
     * The same in the result of a mutation.
     *
     * @param changedFrom what {@code change} was before it
     */
    public Attr toAttr(long changedFrom) {
        return told().setChangedFrom(changedFrom).build();
    }

    /**
     * The same in answers to queries. Those to mutations are kept in the replicated state, alike by
     * members of all versions: there this would take a feature level.
     */
    public Attr toAnswer() {
        return told().setNoXattrs(xattrListBytes == 0)
                .setWriters(isRegular() ? openers : 0)
                .build();
    }

    private Attr.Builder told() {
        Attr.Builder attr = common();
        if (isRegular()) {
            // They ask again and again for the sequence that chunks want, until the file has moved.
            long sequence = fenced ? truncateSequence - 1 : truncateSequence;
            attr.setTruncateSequence(sequence);
            if (cutSequence != sequence) {
                attr.setCutSequence(cutSequence);
            }
            for (Truncation t : truncations) {
                if (!isFence(t)) {
                    attr.addPendingTruncations(t);
                }
            }
        }
        return attr;
    }

    /** As the leader's own duties see it. */
    public Attr toOwnAttr() {
        Attr.Builder attr = common();
        if (isRegular()) {
            attr.setTruncateSequence(truncateSequence).setMovingPool(movingPool).setFenced(fenced);
            for (Truncation t : truncations) {
                attr.addPendingTruncations(isFence(t) ? t.toBuilder().setFence(true).build() : t);
            }
        }
        return attr.build();
    }

    private boolean isFence(Truncation pending) {
        return fenced && pending.getSequence() == truncateSequence;
    }

    /** The layout its chunks have in another pool. */
    public FileLayout layoutIn(int pool) {
        return layout.toBuilder().setPool(pool).build();
    }

    private Attr.Builder common() {
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
            attr.setLayout(layout).setSizeCeiling(ceiling).setWasLocked(wasLocked);
        } else if (isDirectory()) {
            attr.setLayout(layout).setParent(parent);
        }
        return attr;
    }
}
