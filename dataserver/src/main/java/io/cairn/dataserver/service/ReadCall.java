package io.cairn.dataserver.service;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.ReadReply;
import io.cairn.common.data.ReadReplyFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.replication.OpAnswer;
import io.cairn.dataserver.replication.ReadMask;
import io.cairn.dataserver.store.CorruptBlockException;
import io.cairn.dataserver.store.DiskStore;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One client read at the primary: admitted, read from the store, answered when everything in it is
 * committed. The store calls back on its own threads; the rest happens on the loop that owns the
 * PG.
 */
final class ReadCall extends OpCall implements DiskStore.ReadCallback {
    private final DataServerMeters meters;
    private final CorruptReads corruptReads;
    private @Nullable PgSlot slot;
    private @Nullable ByteBuf data;
    private int[] blockCrcs = {};
    private long truncateSequence;
    private long admittedEpoch;

    ReadCall(
            RpcRequest request,
            DataOp op,
            PgLoop owner,
            Runnable needMap,
            DataServerMeters meters,
            CorruptReads corruptReads) {
        super(request, op, owner, needMap, meters.operation(DataServerMeters.Op.READ));
        this.meters = meters;
        this.corruptReads = corruptReads;
    }

    @Override
    void start(PgSlot primary) {
        slot = primary;
        RpcStatus refusal = primary.replica().admitRead(op);
        if (refusal != null) {
            fail(refusal);
            return;
        }
        admittedEpoch = primary.replica().epoch();
        truncateSequence = primary.truncateSequence(op.inode(), op.chunk());
        primary.disk()
                .store()
                .read(op.pg(), op.inode(), op.chunk(), op.offset(), op.length(), this);
    }

    @Override
    public void done(@Nullable ByteBuf bytes, int[] crcs, @Nullable CorruptBlockException failure) {
        if (owner.inLoop()) {
            wasRead(bytes, crcs, failure);
        } else {
            owner.execute(() -> wasRead(bytes, crcs, failure));
        }
    }

    private void wasRead(
            @Nullable ByteBuf bytes, int[] crcs, @Nullable CorruptBlockException failure) {
        PgSlot primary = slot;
        if (primary == null) {
            throw new IllegalStateException("read before it was started");
        }
        if (failure != null || bytes == null) {
            onDisk(primary, () -> readElsewhere(primary, failure));
            return;
        }
        shown(primary, bytes, crcs);
    }

    /**
     * A backup may lack what is uncommitted here, a cut too. What it shows must not be older than
     * the truncation that its data is masked by.
     */
    private void readElsewhere(PgSlot primary, @Nullable CorruptBlockException failure) {
        truncateSequence = primary.truncateSequence(op.inode(), op.chunk());
        primary.replica()
                .onReadFailed(
                        admittedEpoch,
                        new OpAnswer() {
                            @Override
                            public void done() {
                                corruptReads.readElsewhere(
                                        owner, primary, op, failure, ReadCall.this);
                            }

                            @Override
                            public void fail(RpcStatus status) {
                                ReadCall.this.fail(status);
                            }
                        });
    }

    /**
     * The data is here, from this disk or another replica's.
     *
     * @param bytes released here
     */
    void shown(PgSlot primary, ByteBuf bytes, int[] crcs) {
        data = bytes;
        blockCrcs = crcs;
        primary.replica().onReadDone(admittedEpoch, op, this);
    }

    @Override
    public void done() {
        if (!finished(true)) {
            releaseData();
            return;
        }
        ByteBuf bytes = data;
        if (bytes == null) {
            throw new IllegalStateException("shown before it was read");
        }
        data = null;
        mask(bytes);
        meters.read(bytes.readableBytes());
        ReadReply reply = new ReadReply(op.length(), bytes.readableBytes(), blockCrcs);
        ByteBuf head =
                PooledByteBufAllocator.DEFAULT.directBuffer(ReadReplyFormat.encodedLength(reply));
        ReadReplyFormat.encode(reply, head);
        request.reply(head, bytes);
    }

    private void mask(ByteBuf bytes) {
        int visible = ReadMask.visibleBytes(op, truncateSequence, bytes.readableBytes());
        if (visible == bytes.readableBytes()) {
            return;
        }
        bytes.writerIndex(bytes.readerIndex() + visible);
        int blocks = BlockCrc.count(op.offset(), visible);
        blockCrcs = Arrays.copyOf(blockCrcs, blocks);
        if (blocks > 0) {
            int end = op.offset() + visible;
            int blockStart = Math.max(op.offset(), (end - 1) & -BlockCrc.BLOCK_BYTES);
            int last = bytes.writerIndex() - (end - blockStart);
            blockCrcs[blocks - 1] = BlockCrc.of(bytes.nioBuffer(last, end - blockStart));
        }
    }

    @Override
    public void fail(RpcStatus status) {
        releaseData();
        super.fail(status);
    }

    private void releaseData() {
        if (data != null) {
            data.release();
            data = null;
        }
    }

    /** No replica could serve it now. */
    void failCorrupt(String detail) {
        fail(RpcStatus.fail(Errno.EIO, Advice.GIVE_UP, detail));
    }
}
