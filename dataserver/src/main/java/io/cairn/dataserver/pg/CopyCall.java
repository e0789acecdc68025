package io.cairn.dataserver.pg;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PgLearnerCopyRequest;
import io.cairn.common.proto.PgLearnerStepReply;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.replication.PgReplica;
import io.cairn.dataserver.replication.RecoveryOutputs.Base;
import io.cairn.dataserver.replication.RecoveryOutputs.Copy;
import io.cairn.dataserver.replication.RecoveryOutputs.Step;
import io.cairn.dataserver.store.ChunkCopy;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.CorruptBlockException;
import io.cairn.dataserver.store.LearnerStore.Rest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * One copy on its way from a primary to a learner: pieces are read here and sent, one after the
 * other. Begins on the PG's loop, and goes on wherever answers arrive, never in two places at once.
 */
final class CopyCall {
    private static final int PIECE_BYTES = 1 << 20;

    private final PgLoop owner;
    private final SlotRecovery recovery;
    private final LocalDisk disk;
    private final PgReplica replica;
    private final Target target;
    private final Copy copy;
    private final ServerParts parts;
    private final Step step;
    private int piece;

    /** The learner's disk, the PG's epoch, and what is there. */
    record Target(int disk, long pgEpoch, Base base) {}

    CopyCall(
            PgLoop owner,
            SlotRecovery recovery,
            LocalDisk disk,
            PgReplica replica,
            Target target,
            Copy copy,
            ServerParts parts,
            Step step) {
        this.owner = owner;
        this.recovery = recovery;
        this.disk = disk;
        this.replica = replica;
        this.target = target;
        this.copy = copy;
        this.parts = parts;
        this.step = step;
    }

    void start() {
        if (copy.chunk() == Key.INODE) {
            disk.calls()
                    .call(
                            this::inode,
                            request -> owner.execute(() -> sendInode(request)),
                            failure -> fails(String.valueOf(failure.getMessage())));
        } else {
            read(new Rest(0, target.base().completeSequence(), target.base().lengthBytes()));
        }
    }

    /** Removed is only what nothing is here of: a chunk may be younger than both lists. */
    private PgLearnerCopyRequest inode() {
        Key before = new Key(copy.inode(), Key.INODE - 1);
        boolean some =
                disk.store().heads(replica.pg(), before, 1).stream()
                        .anyMatch(h -> h.key().inode() == copy.inode());
        return request()
                .setLast(true)
                .setRemoved(!some)
                .setTruncateSequence(disk.store().inodeTruncateSequence(replica.pg(), copy.inode()))
                .build();
    }

    private void sendInode(PgLearnerCopyRequest request) {
        send(request, Unpooled.EMPTY_BUFFER, null);
    }

    private void read(Rest rest) {
        disk.store()
                .readCopy(
                        replica.pg(),
                        copy.inode(),
                        copy.chunk(),
                        rest,
                        PIECE_BYTES,
                        (read, failure) -> {
                            if (read == null) {
                                report(failure);
                                fails(String.valueOf(failure));
                            } else {
                                owner.execute(() -> sendPiece(rest, read));
                            }
                        });
    }

    /** The copy is tried again: then the block is repaired, or nobody has it. */
    private void report(@Nullable CorruptBlockException failure) {
        if (failure != null && failure.block() != CorruptBlockException.UNKNOWN) {
            parts.damaged()
                    .found(
                            owner,
                            disk.id(),
                            replica.pg(),
                            copy.inode(),
                            copy.chunk(),
                            failure.block() * BlockCrc.BLOCK_BYTES,
                            BlockCrc.BLOCK_BYTES);
        }
    }

    private void sendPiece(Rest rest, ChunkCopy read) {
        send(
                RecoveryMessages.piece(request(), read),
                read.content(),
                read.last() ? null : rest.after(read));
    }

    private PgLearnerCopyRequest.Builder request() {
        return PgLearnerCopyRequest.newBuilder()
                .setPg(replica.pg())
                .setDisk(target.disk())
                .setPgEpoch(target.pgEpoch())
                .setNumber(copy.number())
                .setPiece(piece)
                .setPosition(copy.position())
                .setInode(copy.inode())
                .setChunk(copy.chunk());
    }

    /**
     * Takes over the content.
     *
     * @param next null if there is no more
     */
    private void send(PgLearnerCopyRequest request, ByteBuf content, @Nullable Rest next) {
        RpcChannel channel =
                replica.epoch() == target.pgEpoch() ? owner.channel(target.disk()) : null;
        if (channel == null) {
            content.release();
            fails("epoch " + replica.epoch() + " began");
            return;
        }
        piece++;
        int bytes = content.readableBytes();
        parts.pace().sent(target.disk(), bytes);
        ByteBuf head = PooledByteBufAllocator.DEFAULT.directBuffer(request.getSerializedSize());
        head.writeBytes(request.toByteArray());
        channel.call(
                Method.PG_LEARNER_COPY_VALUE,
                head,
                content,
                System.nanoTime() + SlotRecovery.STEP_NANOS,
                Heads.reply(
                        PgLearnerStepReply.parser(),
                        (status, reply) -> {
                            if (reply != null) {
                                parts.copiedBytes().increment(bytes);
                                parts.pace().answered(target.disk(), reply.getClientsWait());
                            }
                            if (next == null || reply == null) {
                                recovery.ended(status, step);
                            } else {
                                read(next);
                            }
                        }));
    }

    private void fails(String why) {
        recovery.ended(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, why), step);
    }
}
