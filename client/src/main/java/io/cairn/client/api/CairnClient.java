package io.cairn.client.api;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.StatFsReply;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/**
 * A client of a Cairn cluster: the whole file system by inode id. Everything is asynchronous;
 * futures complete on the client's event loops (do not block there) and fail with {@code
 * FsException}. Any thread. Names are raw bytes, 1 to 255, without NUL and '/'; sizes and offsets
 * are bytes.
 *
 * <p>Errors of every operation beside its own: ENOENT (an inode that does not exist, or a directory
 * that was removed), ENOTDIR (a parent or a listed inode that is no directory), ENAMETOOLONG (a
 * name of more than 255 bytes), EINVAL (a name with NUL or '/', or "." and ".." where an entry is
 * made, removed or renamed), ENOSPC (the metadata service is short of space; removing and opening
 * still work). Only where a limit of time is configured: ETIMEDOUT of names and attributes, EIO of
 * data. Permissions are not checked: that is the kernel's task.
 *
 * <p>It lives in one session after the other: when the cluster ends one, as it does when the client
 * was not heard of for long, the next is opened. Open files stay open, except that those with
 * writes of which the cluster did not hear in time fail with EIO whatever may change them, or tells
 * whether they are safe, until they are closed and opened again; those that are no longer there
 * fail with ESTALE. A change of names or attributes fails with EIO where its outcome will never be
 * known.
 */
public interface CairnClient extends AutoCloseable {
    /** Inode id of the root directory of the name space. */
    long ROOT_INODE = 1;

    /**
     * The directory this client was asked to mount; {@link #ROOT_INODE} unless a path was given.
     */
    default long rootInode() {
        return ROOT_INODE;
    }

    /**
     * Runs each time a session has been opened after another one has ended: until then others may
     * have changed everything that was cached. Must not block.
     */
    default void onNewSession(Runnable action) {}

    /**
     * From now on {@link #find}, {@link #getAttr} and {@link #readDir} ask for leases of names and
     * attributes, and what makes names may bring them. How long they last stands in the attributes,
     * {@code attr_lease_micros} and {@code name_lease_micros}, and in the reply for a name that is
     * not there; 0 where there is none. It counts from when the operation was called, so that time
     * spent on the way is spent. Attributes that this client's own writes have changed, or are
     * changing, come without; that an inode has no extended attributes then still lasts for {@code
     * no_xattrs_lease_micros}.
     */
    default void holdLeases(LeaseHolder holder) {}

    /** From now on the holder is told of this client's own changes of regular files. */
    default void holdContents(ContentHolder holder) {}

    /**
     * As {@link #lookup}, but a name that is not there may also be answered, without attributes, by
     * who knows for how long there will be none.
     */
    default CompletableFuture<LookupReply> find(long parent, byte[] name) {
        return lookup(parent, name)
                .thenApply(attr -> LookupReply.newBuilder().setAttr(attr).build());
    }

    /**
     * The attributes of an entry, this client's own writes included. "." and ".." are answered too.
     * ENOENT when there is no such name.
     */
    CompletableFuture<Attr> lookup(long parent, byte[] name);

    /**
     * Attributes, this client's own writes included. An inode without a name has them as long as
     * somebody holds it open. ESTALE for a file that this client held open, and that was removed
     * while its session had ended.
     */
    CompletableFuture<Attr> getAttr(long inode);

    /**
     * One SETATTR; completes with the attributes after it. A size change waits for this client's
     * own writes to the inode; where it shrinks a file that others hold open, also until every data
     * server has cut the file.
     *
     * <p>EISDIR and EINVAL for the size of a directory or special file, EFBIG for one beyond 2^31
     * chunks, EOPNOTSUPP for the mode of a symbolic link.
     *
     * @param who decides which set-id bits stay
     */
    CompletableFuture<Attr> setAttr(SetAttrOp change, Credentials who);

    /**
     * Makes a regular file where there is none, and opens it. EEXIST where there is one and {@code
     * exclusive}, EISDIR where it is a directory.
     *
     * @param mode permission bits of a new file, umask applied
     * @param append whether the file will be appended to, see {@link OpenFile#append}
     * @param who owner and group of a new file
     */
    CompletableFuture<OpenFile> create(
            long parent, byte[] name, int mode, boolean exclusive, boolean append, Credentials who);

    /** {@link #create(long, byte[], int, boolean, boolean, Credentials)} without appends. */
    default CompletableFuture<OpenFile> create(
            long parent, byte[] name, int mode, boolean exclusive, Credentials who) {
        return create(parent, name, mode, exclusive, false, who);
    }

    /**
     * Opens an inode, which then exists until the last one who has it open releases it. Only
     * regular files can be read and written.
     *
     * @param append whether the file will be appended to; without it {@link OpenFile#append} works
     *     as well, but the first one asks the MDS
     */
    CompletableFuture<OpenFile> open(long inode, boolean append);

    /** {@link #open(long, boolean)} without appends. */
    default CompletableFuture<OpenFile> open(long inode) {
        return open(inode, false);
    }

    /**
     * Opens a regular file to read it only: changing it fails with EBADF. Costs the metadata
     * service much less than {@link #open}. ENOENT also for a file without a name that this client
     * does not have open.
     */
    default CompletableFuture<OpenFile> openForReading(long inode) {
        return open(inode, false);
    }

    /**
     * Makes a directory. EEXIST where the name is taken.
     *
     * @param mode permission bits, umask applied
     * @param who its owner and group
     */
    CompletableFuture<Attr> mkdir(long parent, byte[] name, int mode, Credentials who);

    /**
     * Makes a regular file, FIFO, socket or device without opening it. EEXIST where the name is
     * taken, EPERM for a directory, EINVAL for other types.
     *
     * @param mode type and permission bits, umask applied
     * @param rdev of a device, in Linux's new_encode_dev; otherwise of no effect
     * @param who its owner and group
     */
    CompletableFuture<Attr> mknod(long parent, byte[] name, int mode, int rdev, Credentials who);

    /**
     * Makes a symbolic link. EEXIST where the name is taken.
     *
     * @param target 1 to 4,095 bytes, else ENOENT or ENAMETOOLONG
     * @param who its owner and group
     */
    CompletableFuture<Attr> symlink(long parent, byte[] name, byte[] target, Credentials who);

    /**
     * One more name of an inode. EEXIST where the name is taken, EPERM for a directory, ENOENT for
     * an inode without a name, EMLINK beyond 65,000 names.
     */
    CompletableFuture<Attr> link(long inode, long newParent, byte[] newName);

    /**
     * Removes a name of anything but a directory (EISDIR). The inode goes with its last name, and
     * its data later; what is open stays usable until it is released.
     */
    CompletableFuture<Void> unlink(long parent, byte[] name);

    /** Removes a directory without entries. ENOTEMPTY, or ENOTDIR for anything else. */
    CompletableFuture<Void> rmdir(long parent, byte[] name);

    /**
     * Moves a name in one step, over one that is there; completes with the inode that was moved.
     * EEXIST with NOREPLACE, ENOENT with EXCHANGE where there is nothing to exchange with; EINVAL
     * for a directory into itself or other flags; ENOTEMPTY, EISDIR or ENOTDIR for a target that it
     * cannot replace.
     *
     * @param flags as of renameat2: NOREPLACE 1, EXCHANGE 2, not both
     */
    CompletableFuture<Long> rename(
            long parent, byte[] name, long newParent, byte[] newName, int flags);

    /**
     * Completes when the names that were made and removed in the directory are committed; those in
     * directories that this client has made may not be when the operation is answered. Fails, once,
     * if one of them was lost.
     */
    CompletableFuture<Void> syncDirectory(long inode);

    /** The target of a symbolic link, at most 4,095 bytes. EINVAL for other inodes. */
    CompletableFuture<byte[]> readLink(long inode);

    /**
     * Entries of a directory in the order of its cursors, without "." and "..". What is there all
     * the while appears once, whatever is made or removed between two calls.
     *
     * @param cursor 0 for the start, else that of the last entry received; it belongs to the
     *     entry's name as long as that exists
     * @param maxBytes of names and attributes, roughly; 0 or less and more than 1 MiB mean 1 MiB.
     *     At least one entry comes, if there is one
     * @param withAttributes whether each entry has its attributes, this client's own writes
     *     included
     */
    CompletableFuture<ReadDirReply> readDir(
            long inode, long cursor, int maxBytes, boolean withAttributes);

    /** The value of an extended attribute, at most 65,536 bytes. ENODATA where there is none. */
    CompletableFuture<byte[]> getXattr(long inode, byte[] name);

    /** The names of all extended attributes but {@code cairn.layout}, at most 64 KiB together. */
    CompletableFuture<List<byte[]>> listXattr(long inode);

    /**
     * Sets an extended attribute. EEXIST with CREATE where it is there, ENODATA with REPLACE where
     * it is not; ENOSPC when those of the inode exceed 64 KiB of names or 256 KiB in all. {@code
     * cairn.layout} sets the layout: EINVAL for one that cannot be, ENOTEMPTY for a file that has
     * or had data, EBUSY for one that is open for writing, EPERM for other inodes than files and
     * directories.
     *
     * @param name 1 to 255 bytes, else ERANGE
     * @param value at most 65,536 bytes, else E2BIG
     * @param flags as of setxattr(2): CREATE 1, REPLACE 2; else EINVAL
     */
    CompletableFuture<Void> setXattr(long inode, byte[] name, byte[] value, int flags);

    /** Removes an extended attribute. ENODATA where there is none. */
    CompletableFuture<Void> removeXattr(long inode, byte[] name);

    /**
     * Whether locks hold between all clients of the cluster: not before all its metadata servers
     * know of them. It stays as it was when the client connected.
     */
    default boolean sharesLocks() {
        return false;
    }

    /** Space of the whole cluster in bytes, as files may use it: after replication. */
    CompletableFuture<StatFsReply> statFs();

    /**
     * Keeps a thread that is about to issue another write waiting: for a moment, at most 250 ms,
     * while writes that are being answered hold much memory; and while those that wait for data
     * servers hold nearly all they may, but only until these have not answered for an attempt's
     * time (10 s by default): another one should have taken their place by then.
     */
    default void slowDown() {}

    /** Ends the session: open files are closed, what was written is published. */
    @Override
    void close();

    /**
     * A file this session holds open. Any thread. Whoever no longer waits for a read, write or
     * append cancels its future: what was not sent to a data server then never will be, and gives
     * its memory back; what was sent goes on.
     */
    interface OpenFile {
        /** Its inode id. */
        long inode();

        /** As this client knows them now, its own writes included. */
        Attr attr();

        /** The same of a file that was made with it, with the leases that it was made with. */
        default Attr made() {
            return attr();
        }

        /**
         * At most length bytes; shorter only at end of file. The receiver releases the buffer. EIO
         * for a block that is damaged on all replicas that could be asked.
         *
         * @param offset in bytes, not negative
         * @param length in bytes, not negative; the buffer is as large
         */
        CompletableFuture<ByteBuf> read(long offset, int length);

        /**
         * As {@link #read}, for a caller that caches what it reads, and that drops its cache where
         * the file was changed: where reads go on in order, what follows is read before it is asked
         * for. The bytes are none that this client had changed before the call, nor older than the
         * newest attributes that this client has seen, as by an open or with a lock; apart from
         * that they may be a second old.
         */
        default CompletableFuture<ByteBuf> readForCache(long offset, int length) {
            return read(offset, length);
        }

        /**
         * Completes when all of it is durable on every in-sync replica. Takes over the buffer.
         * ENOMEM when the writes that wait hold as much memory as they may, ENOSPC when a disk of a
         * placement group is full, EFBIG beyond 2^31 chunks.
         *
         * @param offset in bytes, not negative
         * @param killPrivileges whether to clear set-user-id and set-group-id, as write(2) must
         */
        CompletableFuture<Void> write(long offset, ByteBuf data, boolean killPrivileges);

        /**
         * As {@link #write}, but may complete before the data is durable: where the file was made
         * by this client and nobody else has asked for it, up to a limit of all such data. What
         * fails after that is reported by {@link #fsync}, {@link #flush} and every later change
         * through the handles that there are then. Everybody who asks for the file waits for it.
         */
        default CompletableFuture<Void> writeBehind(
                long offset, ByteBuf data, boolean killPrivileges) {
            return write(offset, data, killPrivileges);
        }

        /**
         * Writes at the end of the file, wherever other clients have moved it by their appends, and
         * completes with the offset when all of it is durable. Appends of one client are executed
         * in the order of the calls. One that fails leaves the size as it was. Takes over the
         * buffer. Errors as of {@link #write}.
         *
         * @param killPrivileges as of {@link #write}
         * @param goesOn whether the next append is the rest of the same record: other clients'
         *     appends do not come between them unless it is late
         */
        CompletableFuture<Long> append(ByteBuf data, boolean killPrivileges, boolean goesOn);

        /**
         * Locks a range, or the whole file as flock(2) does, for an owner within this client; see
         * {@link LockCall}. What is had of the range already is replaced. The owner's ranges end
         * with {@link #descriptorClosed}, what it took by this handle with {@link #release}, all of
         * it with the session: then the files fail with EIO that were locked.
         *
         * @param lock session and inode do not count; {@code end} is the last byte, {@link
         *     Long#MAX_VALUE} for all that will ever be
         * @param wait whether to wait while another owner's lock is in the way
         * @param ofOpenFile whether the owner is an open file, which other threads may unlock, so
         *     that no deadlock is looked for; asked only where the call waits
         */
        default LockCall lock(FileLock lock, boolean wait, BooleanSupplier ofOpenFile) {
            throw new FsException(Errno.EOPNOTSUPP, "no locks");
        }

        /**
         * Unlocks a range for the owner, or the file; first publishes size and times, so that who
         * gets the lock next sees what was written under it.
         */
        default CompletableFuture<Void> unlock(FileLock range) {
            throw new FsException(Errno.EOPNOTSUPP, "no locks");
        }

        /** The lock that keeps another one from being had; its pid is 0 if it is not ours. */
        default CompletableFuture<Optional<FileLock>> testLock(FileLock wanted) {
            throw new FsException(Errno.EOPNOTSUPP, "no locks");
        }

        /** The owner has closed a descriptor of the file, by whatever handle: its ranges end. */
        default CompletableFuture<Void> descriptorClosed(long owner) {
            return CompletableFuture.completedFuture(null);
        }

        /**
         * Makes the file at least this long, with a hole at its end; one that is longer, by
         * whatever client, stays so. Completes when the size is committed at the MDS. EFBIG beyond
         * 2^31 chunks.
         */
        CompletableFuture<Void> extend(long size);

        /**
         * Completes when all writes issued before it are durable and the size they made is
         * committed at the MDS. A changed mtime alone follows within a second. EIO when writes of
         * this open file were lost with a session. The error of a single write is that of its own
         * future.
         */
        CompletableFuture<Void> fsync();

        /**
         * As close(2) of one descriptor: waits for the writes issued before it and for size and
         * mtime to be committed, so that whoever opens the file next sees them. The file stays
         * open.
         */
        CompletableFuture<Void> flush();

        /**
         * The last close of this handle, which ends the locks taken by it; nothing else may be
         * called on it afterwards. Does not wait for the MDS when there was nothing left to
         * publish.
         */
        CompletableFuture<Void> release();
    }
}
