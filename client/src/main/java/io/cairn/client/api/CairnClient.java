package io.cairn.client.api;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.StatFsReply;
import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A client of a Cairn cluster: the whole file system by inode id. Everything is asynchronous;
 * futures complete on the client's event loops (do not block there) and fail with {@code
 * FsException}. Any thread. Names are raw bytes, 1 to 255, without NUL and '/'.
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

    CompletableFuture<Attr> lookup(long parent, byte[] name);

    CompletableFuture<Attr> getAttr(long inode);

    /** One SETATTR; a size change waits for this client's own writes to the inode. */
    CompletableFuture<Attr> setAttr(SetAttrOp change, Credentials who);

    /**
     * @param append whether the file will be appended to, see {@link OpenFile#append}
     */
    CompletableFuture<OpenFile> create(
            long parent, byte[] name, int mode, boolean exclusive, boolean append, Credentials who);

    default CompletableFuture<OpenFile> create(
            long parent, byte[] name, int mode, boolean exclusive, Credentials who) {
        return create(parent, name, mode, exclusive, false, who);
    }

    /**
     * @param append whether the file will be appended to; without it {@link OpenFile#append} works
     *     as well, but the first one asks the MDS
     */
    CompletableFuture<OpenFile> open(long inode, boolean append);

    default CompletableFuture<OpenFile> open(long inode) {
        return open(inode, false);
    }

    CompletableFuture<Attr> mkdir(long parent, byte[] name, int mode, Credentials who);

    CompletableFuture<Attr> mknod(long parent, byte[] name, int mode, int rdev, Credentials who);

    CompletableFuture<Attr> symlink(long parent, byte[] name, byte[] target, Credentials who);

    CompletableFuture<Attr> link(long inode, long newParent, byte[] newName);

    CompletableFuture<Void> unlink(long parent, byte[] name);

    CompletableFuture<Void> rmdir(long parent, byte[] name);

    /** Flags as of renameat2: NOREPLACE 1, EXCHANGE 2. */
    CompletableFuture<Void> rename(
            long parent, byte[] name, long newParent, byte[] newName, int flags);

    CompletableFuture<byte[]> readLink(long inode);

    CompletableFuture<ReadDirReply> readDir(
            long inode, long cursor, int maxBytes, boolean withAttributes);

    CompletableFuture<byte[]> getXattr(long inode, byte[] name);

    CompletableFuture<List<byte[]>> listXattr(long inode);

    CompletableFuture<Void> setXattr(long inode, byte[] name, byte[] value, int flags);

    CompletableFuture<Void> removeXattr(long inode, byte[] name);

    CompletableFuture<StatFsReply> statFs();

    /**
     * Keeps a thread that is about to issue another write waiting for a moment, at most 250 ms,
     * while writes that are being answered hold much memory. Never because of data servers that do
     * not answer.
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
        long inode();

        /** As this client knows them now, its own writes included. */
        Attr attr();

        /** At most length bytes; shorter only at end of file. The receiver releases the buffer. */
        CompletableFuture<ByteBuf> read(long offset, int length);

        /**
         * Completes when all of it is durable on every in-sync replica. Takes over the buffer.
         * {@code killPrivileges}: clear set-user-id and set-group-id as write(2) must. ENOMEM when
         * the writes that wait hold as much memory as they may.
         */
        CompletableFuture<Void> write(long offset, ByteBuf data, boolean killPrivileges);

        /**
         * Writes at the end of the file, wherever other clients have moved it by their appends, and
         * completes with the offset when all of it is durable. Appends of one client are executed
         * in the order of the calls. One that fails leaves the size as it was. Takes over the
         * buffer.
         *
         * @param goesOn whether the next append is the rest of the same record: other clients'
         *     appends do not come between them unless it is late
         */
        CompletableFuture<Long> append(ByteBuf data, boolean killPrivileges, boolean goesOn);

        /**
         * Makes the file at least this long, with a hole at its end; one that is longer, by
         * whatever client, stays so. Completes when the size is committed at the MDS.
         */
        CompletableFuture<Void> extend(long size);

        /**
         * Completes when all writes issued before it are durable and the size they made is
         * committed at the MDS. A changed mtime alone follows within a second.
         */
        CompletableFuture<Void> fsync();

        /**
         * As close(2) of one descriptor: waits for the writes issued before it and for size and
         * mtime to be committed, so that whoever opens the file next sees them. The file stays
         * open.
         */
        CompletableFuture<Void> flush();

        /**
         * The last close of this handle; nothing else may be called on it afterwards. Does not wait
         * for the MDS when there was nothing left to publish.
         */
        CompletableFuture<Void> release();
    }
}
