package io.cairn.dataserver.service;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.PgLearnerAskRequest;
import io.cairn.common.proto.PgLearnerCompletedRequest;
import io.cairn.common.proto.PgLearnerCopyRequest;
import io.cairn.common.proto.PgLearnerResetRequest;
import io.cairn.common.proto.PgLearnerStepReply;
import io.cairn.common.proto.PgListContentRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.pg.RecoveryMessages;
import io.cairn.dataserver.replication.RecoveryOutputs.Copy;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.replication.RecoveryOutputs.Step;
import io.cairn.dataserver.store.ChunkCopy;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.DiskStore;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Does what a primary asks of a learner, whose replica is on this server. Called on the
 * connection's loop; the work is handed to the loop that owns the PG.
 */
final class LearnerService {
    private static final Logger LOG = LoggerFactory.getLogger(LearnerService.class);

    private final MemberSlots slots;
    private final BooleanSupplier clientsWait;

    /**
     * @param clientsWait whether operations of clients take longer here than they should
     */
    LearnerService(MemberSlots slots, BooleanSupplier clientsWait) {
        this.slots = slots;
        this.clientsWait = clientsWait;
    }

    void ask(RpcRequest request) {
        PgLearnerAskRequest r = Heads.parse(PgLearnerAskRequest.parser(), request.head());
        slots.with(
                request,
                r.getPg(),
                r.getDisk(),
                slot -> {
                    slot.listing().changes();
                    slot.replica()
                            .onAsk(
                                    r.getPgEpoch(),
                                    r.getNumber(),
                                    r.getShared(),
                                    new HistoryReply(request));
                });
    }

    void reset(RpcRequest request) {
        PgLearnerResetRequest r = Heads.parse(PgLearnerResetRequest.parser(), request.head());
        Reset reset = RecoveryMessages.reset(r);
        slots.with(
                request,
                r.getPg(),
                r.getDisk(),
                slot -> {
                    slot.listing().changes();
                    slot.replica().onReset(r.getPgEpoch(), reset, new StepReply(request));
                });
    }

    void completed(RpcRequest request) {
        PgLearnerCompletedRequest r =
                Heads.parse(PgLearnerCompletedRequest.parser(), request.head());
        slots.with(
                request,
                r.getPg(),
                r.getDisk(),
                slot -> {
                    slot.listing().changes();
                    slot.replica()
                            .onCompleted(r.getPgEpoch(), r.getNumber(), new StepReply(request));
                });
    }

    private record StepReply(RpcRequest request) implements Step {
        @Override
        public void done() {
            request.reply(PgLearnerStepReply.getDefaultInstance());
        }

        @Override
        public void failed(RpcStatus status) {
            request.fail(status);
        }
    }

    void list(RpcRequest request) {
        PgListContentRequest r = Heads.parse(PgListContentRequest.parser(), request.head());
        Key after = new Key(r.getAfterInode(), r.getAfterChunk());
        slots.with(
                request,
                r.getPg(),
                r.getDisk(),
                slot -> {
                    RpcStatus refusal =
                            slot.replica().onListContent(r.getPgEpoch(), r.getNumber(), after);
                    if (refusal != null) {
                        request.fail(refusal);
                        return;
                    }
                    slot.listing()
                            .list(
                                    after,
                                    heads -> request.reply(RecoveryMessages.page(heads)),
                                    failure -> {
                                        LOG.debug(
                                                "{}: not listed now: {}", slot, failure.toString());
                                        request.fail(later("the content cannot be listed now"));
                                    });
                });
    }

    void copy(RpcRequest request) {
        PgLearnerCopyRequest r = Heads.parse(PgLearnerCopyRequest.parser(), request.head());
        Copy copy = RecoveryMessages.copy(r);
        ChunkCopy piece =
                copy.chunk() == Key.INODE ? null : RecoveryMessages.piece(r, request.payload());
        slots.with(
                request,
                r.getPg(),
                r.getDisk(),
                slot -> {
                    slot.listing().changes();
                    RpcStatus refusal = slot.replica().onCopy(r.getPgEpoch(), copy);
                    if (refusal != null) {
                        request.fail(refusal);
                        return;
                    }
                    Runnable done = () -> request.reply(copied());
                    DiskStore store = slot.disk().store();
                    if (piece == null) {
                        copyInode(store, r, done);
                    } else if (!store.copy(r.getPg(), piece, done)) {
                        request.fail(later("the disk has no room for it now"));
                        return;
                    }
                    request.releaseBody(); // the log has its own copy
                });
    }

    private PgLearnerStepReply copied() {
        return PgLearnerStepReply.newBuilder().setClientsWait(clientsWait.getAsBoolean()).build();
    }

    private static void copyInode(DiskStore store, PgLearnerCopyRequest r, Runnable done) {
        if (r.getRemoved()) {
            store.removeContent(r.getPg(), r.getInode(), done);
        } else {
            store.copyInode(r.getPg(), r.getInode(), r.getTruncateSequence(), done);
        }
    }

    private static RpcStatus later(String why) {
        return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, why);
    }
}
