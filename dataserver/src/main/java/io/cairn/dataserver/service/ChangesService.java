package io.cairn.dataserver.service;

import io.cairn.common.errno.Errno;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.ByteRun;
import io.cairn.common.proto.ChunkChanges;
import io.cairn.common.proto.InodeChangesReply;
import io.cairn.common.proto.InodeChangesRequest;
import io.cairn.common.proto.Pool;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgLoops;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.store.LearnerStore.Changes;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells a client that moves a file which blocks of its chunks it has to copy. Called on the
 * connection's loop; the list is made on threads of the disk, and told if this server has been the
 * primary all the while.
 */
final class ChangesService {
    private static final Logger LOG = LoggerFactory.getLogger(ChangesService.class);

    /** With at most 512 runs each. */
    private static final int MAX_CHUNKS = 512;

    private final PgLoops loops;
    private final Runnable needMap;

    ChangesService(PgLoops loops, Runnable needMap) {
        this.loops = loops;
        this.needMap = needMap;
    }

    void list(RpcRequest request) {
        InodeChangesRequest r = Heads.parse(InodeChangesRequest.parser(), request.head());
        PgLoop owner = loops.owner(r.getPg());
        owner.runOrExecute(() -> admit(request, r, owner));
    }

    private void admit(RpcRequest request, InodeChangesRequest r, PgLoop owner) {
        if (owner.map().epoch() < r.getMapEpoch()) {
            needMap.run();
            request.fail(later("a newer map is on its way here"));
            return;
        }
        if (owner.map().refused(r.getSession())) {
            request.fail(
                    RpcStatus.fail(
                            Errno.EIO,
                            Advice.FENCED,
                            "session " + r.getSession() + " was evicted"));
            return;
        }
        @Nullable PgSlot slot = owner.primary(r.getPg());
        if (slot == null) {
            request.fail(owner.noPrimary(r.getPg()));
            return;
        }
        @Nullable RpcStatus refusal = slot.replica().admitListing();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        long epoch = slot.replica().epoch();
        long position = slot.replica().committedSequence();
        LocalDisk disk = slot.disk();
        int max = Math.clamp(r.getMaxChunks(), 1, MAX_CHUNKS);
        disk.calls()
                .call(
                        () ->
                                disk.store()
                                        .changes(
                                                r.getPg(),
                                                r.getInode(),
                                                r.getAfterChunk(),
                                                r.getSince(),
                                                max),
                        found ->
                                owner.execute(() ->
                                        told(request, r, owner, epoch, reply(found, position))),
                        failure -> {
                            LOG.warn("Inode {} cannot be listed now", r.getInode(), failure);
                            request.fail(later("the content cannot be listed now"));
                        });
    }

    private static void told(
            RpcRequest request,
            InodeChangesRequest r,
            PgLoop owner,
            long epoch,
            InodeChangesReply reply) {
        @Nullable PgSlot slot = owner.primary(r.getPg());
        if (slot == null) {
            request.fail(owner.noPrimary(r.getPg()));
            return;
        }
        @Nullable RpcStatus refusal = slot.replica().admitListing();
        if (refusal != null) {
            request.fail(refusal);
        } else if (slot.replica().epoch() != epoch) {
            request.fail(later("a newer epoch began while it was listed"));
        } else {
            @Nullable Pool pool = owner.map().pool(PgHash.poolOf(r.getPg()));
            request.reply(
                    reply.toBuilder().setPgCount(pool == null ? 0 : pool.getPgCount()).build());
        }
    }

    private static InodeChangesReply reply(Changes found, long position) {
        InodeChangesReply.Builder reply =
                InodeChangesReply.newBuilder()
                        .setPosition(position)
                        .setUpToChunk(found.upTo())
                        .setLast(found.last());
        found.chunks()
                .forEach(c -> {
                    ChunkChanges.Builder chunk = ChunkChanges.newBuilder().setChunk(c.chunk());
                    c.runs()
                            .forEach(run ->
                                    chunk.addRuns(
                                            ByteRun.newBuilder()
                                                    .setOffset(run.offset())
                                                    .setLength(run.length())));
                    reply.addChunks(chunk);
                });
        return reply.build();
    }

    private static RpcStatus later(String why) {
        return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, why);
    }
}
