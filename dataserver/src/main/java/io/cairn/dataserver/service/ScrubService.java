package io.cairn.dataserver.service;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.PgScrubChunkRequest;
import io.cairn.common.proto.PgScrubListRequest;
import io.cairn.common.proto.PgScrubbedReply;
import io.cairn.common.proto.PgScrubbedRequest;
import io.cairn.common.proto.ScrubProgressRequest;
import io.cairn.common.proto.ScrubRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.ScrubStamps;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.pg.RecoveryMessages;
import io.cairn.dataserver.scrub.ChunkChecks;
import io.cairn.dataserver.scrub.Scrubs;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers what the scrub of a primary asks of a member that is on this server, and what
 * administrators ask of the scrubs here. Called on the connection's loop.
 */
final class ScrubService {
    private static final Logger LOG = LoggerFactory.getLogger(ScrubService.class);

    /** Heads in one page, about 30 bytes each. */
    private static final int MAX_HEADS = 1024;

    private final MemberSlots slots;
    private final Scrubs scrubs;

    ScrubService(MemberSlots slots, Scrubs scrubs) {
        this.slots = slots;
        this.scrubs = scrubs;
    }

    /** The place in the history is taken first: the list has all up to there. */
    void list(RpcRequest request) {
        PgScrubListRequest r = Heads.parse(PgScrubListRequest.parser(), request.head());
        Key after = new Key(r.getAfterInode(), r.getAfterChunk());
        int max = Math.clamp(r.getMaxHeads(), 1, MAX_HEADS);
        member(
                request,
                r.getPg(),
                r.getDisk(),
                r.getPgEpoch(),
                slot -> {
                    long last = slot.replica().lastSequence();
                    slot.disk()
                            .calls()
                            .call(
                                    () ->
                                            RecoveryMessages.scrubList(
                                                    last,
                                                    slot.disk()
                                                            .store()
                                                            .heads(r.getPg(), after, max)),
                                    request::reply,
                                    failure -> failed(request, r.getPg(), failure));
                });
    }

    void chunk(RpcRequest request) {
        PgScrubChunkRequest r = Heads.parse(PgScrubChunkRequest.parser(), request.head());
        member(
                request,
                r.getPg(),
                r.getDisk(),
                r.getPgEpoch(),
                slot -> {
                    ChunkChecks checks = scrubs.checks(slot.disk());
                    if (checks == null) {
                        request.fail(RpcStatus.fail(Errno.EIO, "the disk is not scrubbed"));
                        return;
                    }
                    checks.check(
                            r.getPg(),
                            new Key(r.getInode(), r.getChunk()),
                            check -> request.reply(RecoveryMessages.scrubChunk(check)),
                            failure -> failed(request, r.getPg(), failure));
                });
    }

    void scrubbed(RpcRequest request) {
        PgScrubbedRequest r = Heads.parse(PgScrubbedRequest.parser(), request.head());
        ScrubStamps stamps =
                new ScrubStamps(
                        r.getSinceMillis(),
                        r.getLightMillis(),
                        r.getDeepMillis(),
                        r.getDifferences());
        member(
                request,
                r.getPg(),
                r.getDisk(),
                r.getPgEpoch(),
                slot ->
                        slot.disk()
                                .calls()
                                .call(
                                        () -> {
                                            slot.disk().store().noteScrub(r.getPg(), stamps);
                                            return PgScrubbedReply.getDefaultInstance();
                                        },
                                        request::reply,
                                        failure -> failed(request, r.getPg(), failure)));
    }

    private void member(
            RpcRequest request, int pg, int disk, long pgEpoch, Consumer<PgSlot> action) {
        slots.with(
                request,
                pg,
                disk,
                slot -> {
                    RpcStatus refusal = slot.replica().admitMemberRead(pgEpoch);
                    if (refusal == null) {
                        action.accept(slot);
                    } else {
                        request.fail(refusal);
                    }
                });
    }

    private static void failed(RpcRequest request, int pg, Throwable failure) {
        if (failure instanceof RejectedExecutionException) {
            request.fail(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "the disk is busy"));
            return;
        }
        LOG.warn("Placement group {}: a scrub cannot go on", Integer.toHexString(pg), failure);
        request.fail(RpcStatus.fail(Errno.EIO, String.valueOf(failure.getMessage())));
    }

    /** An administrator wants it now. */
    void begin(RpcRequest request) {
        ScrubRequest r = Heads.parse(ScrubRequest.parser(), request.head());
        var _ =
                scrubs.begin(r.getPgsList(), r.getDeep())
                        .whenComplete((reply, failure) -> {
                            if (failure == null) {
                                request.reply(reply);
                            } else {
                                request.fail(RpcStatus.fail(Errno.EIO, failure.toString()));
                            }
                        });
    }

    void progress(RpcRequest request) {
        ScrubProgressRequest r = Heads.parse(ScrubProgressRequest.parser(), request.head());
        request.reply(scrubs.progress(r.getRun()));
    }
}
