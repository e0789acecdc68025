package io.cairn.client.inode;

import io.cairn.client.api.CairnClient;
import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.HeldData;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** One open of a file by the caller; all handles of an inode share its {@link InodeState}. */
public final class OpenHandle implements CairnClient.OpenFile {
    private final FileServices services;
    private final InodeTable table;
    private final Appends appends;
    private final InodeState state;

    /** Writes that were lost later are this handle's to report. */
    private final int losses;

    private final AtomicBoolean released = new AtomicBoolean();

    /**
     * @param state acquired for this handle, with attributes
     */
    OpenHandle(FileServices services, InodeTable table, Appends appends, InodeState state) {
        this.services = services;
        this.table = table;
        this.appends = appends;
        this.state = state;
        synchronized (state) {
            this.losses = state.tenure.losses();
        }
    }

    @Override
    public long inode() {
        return state.inode();
    }

    @Override
    public Attr attr() {
        return state.merged();
    }

    @Override
    public CompletableFuture<ByteBuf> read(long offset, int length) {
        if (offset < 0 || length < 0) {
            return Async.failed(Errno.EINVAL, "read at " + offset + " length " + length);
        }
        if (released.get()) {
            return Async.failed(Errno.EBADF, "file " + inode() + " is closed");
        }
        if (length == 0 || offset > Long.MAX_VALUE - length) {
            return CompletableFuture.completedFuture(Unpooled.EMPTY_BUFFER);
        }
        ReadOp op = new ReadOp(services, state, offset, length);
        state.order().submit(op);
        return op.future;
    }

    @Override
    public CompletableFuture<Void> write(long offset, ByteBuf data, boolean killPrivileges) {
        int length = data.readableBytes();
        CompletableFuture<Void> refused = null;
        if (offset < 0) {
            refused = Async.failed(Errno.EINVAL, "write at " + offset);
        } else if (released.get()) {
            refused = Async.failed(Errno.EBADF, "file " + inode() + " is closed");
        } else if (offset > state.view().maxFileBytes() - length) {
            refused = Async.failed(Errno.EFBIG, "write at " + offset);
        } else if (length == 0) {
            refused = Async.done();
        }
        if (refused != null) {
            data.release();
            return refused;
        }
        HeldData held;
        try {
            held = services.data().hold(state, offset, data);
        } catch (FsException e) {
            data.release();
            return CompletableFuture.failedFuture(e);
        }
        WriteOp op = new WriteOp(services, state, offset, held, killPrivileges, losses);
        op.submit();
        return op.future;
    }

    @Override
    public CompletableFuture<Long> append(ByteBuf data, boolean killPrivileges, boolean goesOn) {
        if (released.get()) {
            data.release();
            return Async.failed(Errno.EBADF, "file " + inode() + " is closed");
        }
        if (data.readableBytes() == 0) {
            data.release();
            return CompletableFuture.completedFuture(state.size());
        }
        FsException refused = state.refusal(losses);
        if (refused != null) { // or it would ask for the right in vain
            data.release();
            return CompletableFuture.failedFuture(refused);
        }
        HeldData held;
        try {
            held = services.data().hold(state, end(data.readableBytes()), data);
        } catch (FsException e) {
            data.release();
            return CompletableFuture.failedFuture(e);
        }
        AppendOp op =
                new AppendOp(
                        services,
                        state,
                        held,
                        killPrivileges,
                        goesOn,
                        losses,
                        given -> appends.givenUp(state, given));
        appends.submit(state, op);
        return op.future;
    }

    /** Where an append would go now: near enough to tell whose memory it takes. */
    private long end(int length) {
        return Math.min(state.size(), state.view().maxFileBytes() - length);
    }

    @Override
    public CompletableFuture<Void> extend(long size) {
        if (released.get()) {
            return Async.failed(Errno.EBADF, "file " + inode() + " is closed");
        }
        if (size > state.view().maxFileBytes()) {
            return Async.failed(Errno.EFBIG, "size " + size);
        }
        ExtendOp op = new ExtendOp(services, state, size, losses);
        state.order().submit(op);
        return op.future;
    }

    @Override
    public CompletableFuture<Void> fsync() {
        return sync(ClientMeters.Op.FSYNC, false);
    }

    @Override
    public CompletableFuture<Void> flush() {
        return sync(ClientMeters.Op.FLUSH, true);
    }

    private CompletableFuture<Void> sync(ClientMeters.Op op, boolean withTimes) {
        SyncOp sync = new SyncOp(services, state, withTimes, losses);
        var _ = services.meters().timed(op, sync.future);
        state.order().submit(sync);
        return sync.future;
    }

    @Override
    public CompletableFuture<Void> release() {
        if (!released.compareAndSet(false, true)) {
            return Async.done();
        }
        return services.meters().timed(ClientMeters.Op.RELEASE, table.release(state));
    }
}
