package io.cairn.dataserver.service;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.ReadReply;
import io.cairn.common.data.ReadReplyFormat;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.store.CorruptBlockException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves a read from a backup when a block is damaged on the primary's disk. The backup has every
 * committed operation and perhaps uncommitted ones; when its data has arrived, the primary decides
 * as for any other read what may be shown. Then the block is repaired. On the PG's loop.
 */
final class CorruptReads {
    private static final Logger LOG = LoggerFactory.getLogger(CorruptReads.class);

    private static final long DEADLINE_NANOS = 10_000_000_000L;

    private final DataServerMeters meters;
    private final Repairs repairs;

    CorruptReads(DataServerMeters meters, Repairs repairs) {
        this.meters = meters;
        this.repairs = repairs;
    }

    void readElsewhere(
            PgLoop owner,
            PgSlot primary,
            DataOp op,
            @Nullable CorruptBlockException failure,
            ReadCall call) {
        meters.corruptRead();
        LOG.error(
                "Disk {}: a block of inode {}, chunk {} is damaged ({}); reading it from a backup",
                primary.disk().id(),
                Long.toHexString(op.inode()),
                op.chunk(),
                failure == null ? "no data" : failure.getMessage());
        ask(owner, primary, op, call, 1);
    }

    private void ask(PgLoop owner, PgSlot primary, DataOp op, ReadCall call, int member) {
        int[] members = owner.members(op.pg());
        if (member >= members.length) {
            call.failCorrupt("every replica of the block is damaged or out of reach");
            repair(owner, primary, op);
            return;
        }
        RpcChannel channel = owner.channel(members[member]);
        if (channel == null) {
            ask(owner, primary, op, call, member + 1);
            return;
        }
        int length = PgReadFormat.encodedLength(op);
        ByteBuf head = PooledByteBufAllocator.DEFAULT.directBuffer(length);
        PgReadFormat.encode(
                new PgReadFormat.PgRead(members[member], primary.replica().epoch(), op), head);
        channel.call(
                Method.PG_READ_VALUE,
                head,
                Unpooled.EMPTY_BUFFER,
                System.nanoTime() + DEADLINE_NANOS,
                (status, reply, data) -> {
                    ReadReply good = checked(op, status, reply, data);
                    ByteBuf bytes = good == null ? null : data.retain();
                    owner.execute(() -> {
                        if (good == null || bytes == null) {
                            ask(owner, primary, op, call, member + 1);
                        } else {
                            call.shown(primary, bytes, good.blockCrcs());
                            repair(owner, primary, op);
                        }
                    });
                });
    }

    /**
     * Also when no replica could serve the whole range: each of its blocks may be intact on one of
     * them.
     */
    private void repair(PgLoop owner, PgSlot primary, DataOp op) {
        repairs.found(
                owner,
                primary.disk().id(),
                op.pg(),
                op.inode(),
                op.chunk(),
                op.offset(),
                op.length());
    }

    private static @Nullable ReadReply checked(
            DataOp op, RpcStatus status, ByteBuf head, ByteBuf data) {
        if (!status.ok()) {
            LOG.warn("A backup could not serve a damaged block: {}", status.detail());
            return null;
        }
        try {
            ReadReply reply =
                    ReadReplyFormat.decode(head, op.offset(), op.length(), data.readableBytes());
            boolean right = BlockCrc.firstMismatch(data, op.offset(), reply.blockCrcs()) < 0;
            return right ? reply : null;
        } catch (FsException e) {
            LOG.warn("A backup's answer is not valid: {}", e.getMessage());
            return null;
        }
    }
}
