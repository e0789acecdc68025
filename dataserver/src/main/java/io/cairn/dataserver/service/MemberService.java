package io.cairn.dataserver.service;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.ReadReply;
import io.cairn.common.data.ReadReplyFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.PgCommitReply;
import io.cairn.common.proto.PgCommitRequest;
import io.cairn.common.proto.PgFetchOpsRequest;
import io.cairn.common.proto.PgPeerQueryRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.BadBlock;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.pg.Messages;
import io.cairn.dataserver.pg.PgLoops;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.pg.Requests;
import io.cairn.dataserver.replication.DiskSpace;
import io.cairn.dataserver.replication.Prepare;
import io.cairn.dataserver.replication.PrepareAnswer;
import io.cairn.dataserver.replication.PrepareFormat;
import io.cairn.dataserver.replication.PrepareReplyFormat;
import io.cairn.dataserver.store.CorruptBlockException;
import io.cairn.dataserver.store.DiskStore.VersionedBlock;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers what one member of a PG asks of another one, whose replica is on this server. Called on
 * the connection's loop; the work is handed to the loop that owns the PG.
 */
final class MemberService {
    private static final Logger LOG = LoggerFactory.getLogger(MemberService.class);

    private static final int MAX_FETCH_BYTES = 8 << 20;

    private final PgLoops loops;
    private final MemberSlots slots;
    private final Repairs repairs;
    private final DataServerMeters meters;

    MemberService(PgLoops loops, MemberSlots slots, Repairs repairs, DataServerMeters meters) {
        this.loops = loops;
        this.slots = slots;
        this.repairs = repairs;
        this.meters = meters;
    }

    void prepare(RpcRequest request) {
        Prepare p = PrepareFormat.decode(request.head(), request.payload());
        if (p.entry().op().type() == DataOpType.READ) {
            throw new FsException(Errno.EPROTO, "a read cannot be prepared");
        }
        Requests.checkPayload(p.entry().op(), request.payload());
        slots.with(
                request,
                p.entry().pg(),
                p.targetDisk(),
                slot -> {
                    slot.replica().onPrepare(p, new PrepareReply(request, meters, isWaitedFor(p)));
                    // The log has its own copy; the answer comes when that is durable.
                    request.releaseBody();
                });
    }

    /** What a learner gets from the log is committed; and a no-op is nobody's. */
    private static boolean isWaitedFor(Prepare p) {
        return p.entry().op().session() != 0 && p.entry().sequence() > p.committedSequence();
    }

    private static final class PrepareReply implements PrepareAnswer {
        private final RpcRequest request;
        private final DataServerMeters meters;
        private final boolean waitedFor;
        private final int bytes;
        private final long startNanos = System.nanoTime();

        PrepareReply(RpcRequest request, DataServerMeters meters, boolean waitedFor) {
            this.request = request;
            this.meters = meters;
            this.waitedFor = waitedFor;
            this.bytes = request.payload().readableBytes();
        }

        @Override
        public void appended() {
            meters.writtenAsBackup(bytes);
        }

        @Override
        public void durable(long pgEpoch, long durableSequence, DiskSpace space) {
            meters.backedUp(startNanos, true, waitedFor);
            reply(new PrepareReplyFormat.Reply(pgEpoch, durableSequence, space, false));
        }

        @Override
        public void gap(long pgEpoch, long haveSequence, DiskSpace space) {
            meters.backedUp(startNanos, false, false);
            reply(new PrepareReplyFormat.Reply(pgEpoch, haveSequence, space, true));
        }

        private void reply(PrepareReplyFormat.Reply r) {
            ByteBuf head = PooledByteBufAllocator.DEFAULT.directBuffer(PrepareReplyFormat.LENGTH);
            PrepareReplyFormat.encode(r, head);
            request.reply(head, Unpooled.EMPTY_BUFFER);
        }

        @Override
        public void refuse(RpcStatus status) {
            meters.backedUp(startNanos, false, false);
            request.fail(status);
        }
    }

    void query(RpcRequest request) {
        PgPeerQueryRequest r = Heads.parse(PgPeerQueryRequest.parser(), request.head());
        slots.with(
                request,
                r.getPg(),
                r.getDisk(),
                slot -> slot.replica().onQuery(r.getPgEpoch(), new HistoryReply(request)));
    }

    void fetch(RpcRequest request) {
        PgFetchOpsRequest r = Heads.parse(PgFetchOpsRequest.parser(), request.head());
        int maxBytes = Math.clamp(r.getMaxBytes(), 1, MAX_FETCH_BYTES);
        slots.with(
                request,
                r.getPg(),
                r.getDisk(),
                slot -> {
                    RpcStatus refusal = slot.replica().admitFetch(r.getPgEpoch());
                    if (refusal != null) {
                        request.fail(refusal);
                        return;
                    }
                    entries(request, r, slot, maxBytes);
                });
    }

    private static void entries(
            RpcRequest request, PgFetchOpsRequest r, PgSlot slot, int maxBytes) {
        slot.disk()
                .calls()
                .call(
                        () -> {
                            List<PgLogEntry> entries =
                                    slot.disk().store().entries(r.getPg(), r.getAfter(), maxBytes);
                            return Messages.reply(r.getPgEpoch(), entries, maxBytes);
                        },
                        request::reply,
                        failure -> request.fail(statusOf(failure)));
    }

    private static RpcStatus statusOf(Throwable failure) {
        if (failure instanceof FsException e) {
            return RpcStatus.fail(e.errno(), String.valueOf(e.getMessage()));
        }
        LOG.error("Another member asked for operations, which cannot be read now", failure);
        return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "the log cannot be read now");
    }

    void commit(RpcRequest request) {
        PgCommitRequest r = Heads.parse(PgCommitRequest.parser(), request.head());
        slots.with(
                request,
                r.getPg(),
                r.getDisk(),
                slot -> {
                    RpcStatus refusal =
                            slot.replica().onCommit(r.getPgEpoch(), r.getCommittedSequence());
                    if (refusal == null) {
                        request.reply(PgCommitReply.getDefaultInstance());
                    } else {
                        request.fail(refusal);
                    }
                });
    }

    /** A primary reads here what is damaged on its own disk. */
    void read(RpcRequest request) {
        PgReadFormat.PgRead r = PgReadFormat.decode(request.head());
        if (r.op().type() != DataOpType.READ || r.op().length() > Requests.MAX_IO_BYTES) {
            throw new FsException(Errno.EPROTO, "a member read that is no read");
        }
        slots.with(
                request,
                r.op().pg(),
                r.disk(),
                slot -> {
                    RpcStatus refusal = slot.replica().admitFetch(r.pgEpoch());
                    if (refusal != null) {
                        request.fail(refusal);
                        return;
                    }
                    slot.disk()
                            .store()
                            .read(
                                    r.op().pg(),
                                    r.op().inode(),
                                    r.op().chunk(),
                                    r.op().offset(),
                                    r.op().length(),
                                    (data, crcs, failure) -> {
                                        if (data == null) {
                                            damaged(r.op(), slot);
                                            request.fail(
                                                    RpcStatus.fail(
                                                            Errno.EIO, String.valueOf(failure)));
                                            return;
                                        }
                                        ReadReply reply =
                                                new ReadReply(
                                                        r.op().length(),
                                                        data.readableBytes(),
                                                        crcs);
                                        ByteBuf head =
                                                PooledByteBufAllocator.DEFAULT.directBuffer(
                                                        ReadReplyFormat.encodedLength(reply));
                                        ReadReplyFormat.encode(reply, head);
                                        request.reply(head, data);
                                    });
                });
    }

    private void damaged(DataOp op, PgSlot slot) {
        repairs.found(
                loops.owner(op.pg()),
                slot.disk().id(),
                op.pg(),
                op.inode(),
                op.chunk(),
                op.offset(),
                op.length());
    }

    /** Another member repairs its block with the one here. */
    void readBlock(RpcRequest request) {
        PgBlockFormat.PgBlock b = PgBlockFormat.decode(request.head());
        slots.with(
                request,
                b.pg(),
                b.disk(),
                slot -> {
                    RpcStatus refusal = slot.replica().admitMemberRead(b.pgEpoch());
                    if (refusal != null) {
                        request.fail(refusal);
                        return;
                    }
                    slot.disk()
                            .store()
                            .readBlock(
                                    holderOf(b, slot),
                                    b.inode(),
                                    b.chunk(),
                                    b.block(),
                                    (block, failure) -> reply(request, b, slot, block, failure));
                });
    }

    /**
     * A member that has not carried out a split may need a block for that, and here another group
     * has it already. Its version says whether it is of use.
     */
    private int holderOf(PgBlockFormat.PgBlock b, PgSlot slot) {
        ClusterMap map = loops.owner(b.pg()).map();
        int pool = PgHash.poolOf(b.pg());
        if (map.pool(pool) == null || map.isIn(b.pg(), b.inode(), b.chunk())) {
            return b.pg();
        }
        int now = map.pgOf(pool, b.inode(), b.chunk());
        return slot.disk().store().pgs().contains(now) ? now : b.pg();
    }

    private void reply(
            RpcRequest request,
            PgBlockFormat.PgBlock b,
            PgSlot slot,
            @Nullable VersionedBlock block,
            @Nullable CorruptBlockException failure) {
        if (block == null) {
            if (failure != null
                    && failure.block() != CorruptBlockException.UNKNOWN
                    && !isInQuarantine(b, slot)) {
                repairs.found(
                        loops.owner(b.pg()),
                        b.disk(),
                        b.pg(),
                        b.inode(),
                        b.chunk(),
                        b.block() * BlockCrc.BLOCK_BYTES,
                        BlockCrc.BLOCK_BYTES);
            }
            request.fail(RpcStatus.fail(Errno.EIO, String.valueOf(failure)));
            return;
        }
        ByteBuf head = PooledByteBufAllocator.DEFAULT.directBuffer(PgBlockFormat.REPLY_LENGTH);
        int crc = BlockCrc.of(block.content().nioBuffer());
        PgBlockFormat.encodeReply(new PgBlockFormat.Reply(block.version(), crc), head);
        request.reply(head, block.content());
    }

    /**
     * Its repair is tried again from time to time. Where the member that asks has none that is
     * right either, the two would ask each other without end.
     */
    private static boolean isInQuarantine(PgBlockFormat.PgBlock b, PgSlot slot) {
        return slot.disk()
                .damage()
                .isQuarantined(new BadBlock(b.pg(), b.inode(), b.chunk(), b.block()));
    }
}
