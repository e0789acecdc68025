package io.cairn.dataserver.service;

import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.pg.DiskOutException;
import io.cairn.dataserver.pg.EpochGate;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.replication.OpAnswer;
import io.netty.buffer.ByteBuf;

/**
 * One request, from admission to answer: counted in the epoch gate of the loop that owns its PG,
 * and timed. {@link #run} and the answers happen on that loop.
 */
abstract class OpCall extends EpochGate.Entry implements OpAnswer, Runnable {
    protected final RpcRequest request;
    protected final DataOp op;
    protected final PgLoop owner;
    private final Runnable needMap;
    private final OperationTimer timer;
    private final long startNanos = System.nanoTime();

    OpCall(RpcRequest request, DataOp op, PgLoop owner, Runnable needMap, OperationTimer timer) {
        this.request = request;
        this.op = op;
        this.owner = owner;
        this.needMap = needMap;
        this.timer = timer;
    }

    @Override
    protected final long session() {
        return op.session();
    }

    /** What the replica has of it keeps its place there; the replica's answer comes too late. */
    @Override
    protected final void refused() {
        fail(RpcStatus.fail(Errno.EIO, Advice.FENCED, "session " + op.session() + " was evicted"));
    }

    /** Checks what the map decides, and lets the replica do the rest. */
    @Override
    public final void run() {
        owner.gate().enter(this);
        if (owner.map().epoch() < op.mapEpoch()) {
            needMap.run();
            fail(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "a newer map is on its way here"));
            return;
        }
        if (op.session() != 0 && owner.map().refused(op.session())) {
            refused();
            return;
        }
        if (op.session() != 0 && op.mapEpoch() < owner.map().sessionFloor()) {
            // Since that map its session may have been refused and forgotten.
            fail(
                    RpcStatus.fail(
                            Errno.EAGAIN,
                            Advice.REFRESH_MAP,
                            "made under map %d, older than %d"
                                    .formatted(op.mapEpoch(), owner.map().sessionFloor())));
            return;
        }
        if (op.session() != 0 && !owner.map().isIn(op.pg(), op.inode(), op.chunk())) {
            fail(
                    RpcStatus.fail(
                            Errno.EAGAIN,
                            Advice.REFRESH_MAP,
                            "chunk %d of inode %d is not in placement group %x"
                                    .formatted(op.chunk(), op.inode(), op.pg())));
            return;
        }
        PgSlot slot = owner.primary(op.pg());
        if (slot == null) {
            fail(owner.noPrimary(op.pg()));
            return;
        }
        onDisk(slot, () -> start(slot));
    }

    /** Runs what asks the disk; if that fails, the request is to be tried again. */
    protected final void onDisk(PgSlot slot, Runnable task) {
        try {
            task.run();
        } catch (DiskOutException e) {
            fail(LocalDisk.outStatus(slot.disk().id()));
        }
    }

    /** The primary is here. */
    abstract void start(PgSlot slot);

    @Override
    public void fail(RpcStatus status) {
        if (finished(false)) {
            request.fail(status);
        }
    }

    /**
     * To be called before the request is answered.
     *
     * @return whether it is to be: false if it was, being of an evicted session
     */
    protected final boolean finished(boolean ok) {
        if (!owner.gate().leave(this)) {
            return false;
        }
        timer.recordSince(startNanos, ok);
        return true;
    }

    /**
     * A mutation; what it is answered with depends on its kind. It holds its payload until the
     * replica has taken it or not: what waits for its commit is held once, by the replica, however
     * often the caller sends it again.
     */
    static final class Mutation extends OpCall {
        private final ByteBuf payload;
        private final Runnable reply;
        private boolean holdsPayload = true;

        /**
         * @param payload released here
         * @param reply answers the request
         */
        Mutation(
                RpcRequest request,
                DataOp op,
                ByteBuf payload,
                PgLoop owner,
                Runnable needMap,
                OperationTimer timer,
                Runnable reply) {
            super(request, op, owner, needMap, timer);
            this.payload = payload;
            this.reply = reply;
        }

        @Override
        void start(PgSlot slot) {
            slot.replica().onOperation(op, payload, this);
            releasePayload();
        }

        private void releasePayload() {
            if (holdsPayload) {
                holdsPayload = false;
                payload.release();
                request.releaseBody();
            }
        }

        @Override
        public void done() {
            releasePayload();
            if (finished(true)) {
                reply.run();
            }
        }

        @Override
        public void fail(RpcStatus status) {
            releasePayload();
            super.fail(status);
        }
    }
}
