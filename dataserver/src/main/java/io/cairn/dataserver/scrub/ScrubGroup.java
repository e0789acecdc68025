package io.cairn.dataserver.scrub;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PgScrubChunkReply;
import io.cairn.common.proto.PgScrubChunkRequest;
import io.cairn.common.proto.PgScrubListReply;
import io.cairn.common.proto.PgScrubListRequest;
import io.cairn.common.proto.PgScrubbedReply;
import io.cairn.common.proto.PgScrubbedRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.chunk.ScrubStamps;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.pg.RecoveryMessages;
import io.cairn.dataserver.replication.PgState;
import io.cairn.dataserver.store.ChunkCheck;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A placement group in one epoch, as a scrub at its primary asks its members. Calls wait for their
 * answers; whatever ends the epoch ends the scrub. Used by the scrub's thread.
 */
final class ScrubGroup {
    private static final Logger LOG = LoggerFactory.getLogger(ScrubGroup.class);

    private static final long ASK_SECONDS = 10;

    /** A chunk may wait for others to be read at the rate of scrubs. */
    private static final long CHECK_SECONDS = 300;

    private static final int ATTEMPTS = 20;
    private static final long PAUSE_NANOS = 200_000_000L;

    private final PgLoop owner;
    private final LocalDisk disk;
    private final ChunkChecks checks;
    private final int pg;
    private final long epoch;
    private final List<Integer> others;

    private ScrubGroup(PgLoop owner, LocalDisk disk, ChunkChecks checks, PgSlot primary) {
        this.owner = owner;
        this.disk = disk;
        this.checks = checks;
        pg = primary.replica().pg();
        epoch = primary.replica().epoch();
        others = Arrays.stream(owner.members(pg)).filter(m -> m != disk.id()).boxed().toList();
    }

    /** Throws ScrubStopped if its primary does not serve on the disk. */
    static ScrubGroup begin(PgLoop owner, LocalDisk disk, ChunkChecks checks, int pg)
            throws ScrubStopped, InterruptedException {
        return onLoop(owner, () -> new ScrubGroup(owner, disk, checks, serving(owner, disk, pg)));
    }

    private static PgSlot serving(PgLoop owner, LocalDisk disk, int pg) throws ScrubStopped {
        PgSlot slot = owner.primary(pg);
        if (slot == null || slot.disk() != disk) {
            throw new ScrubStopped("its primary is elsewhere");
        }
        if (slot.replica().state() != PgState.ACTIVE) {
            throw new ScrubStopped("it does not serve now");
        }
        return slot;
    }

    int pg() {
        return pg;
    }

    /** The primary's. */
    int disk() {
        return disk.id();
    }

    /** Disks of the members in sync besides the primary. */
    List<Integer> others() {
        return others;
    }

    /** Everything that the primary has shown of the group by now is from operations up to this. */
    long lastSequence() throws ScrubStopped, InterruptedException {
        return onLoop(
                owner,
                () -> {
                    PgSlot slot = serving(owner, disk, pg);
                    if (slot.replica().epoch() != epoch) {
                        throw new ScrubStopped("another epoch began");
                    }
                    return slot.replica().lastSequence();
                });
    }

    /** What the primary has behind the key. */
    List<ContentHead> heads(Key after, int max) throws ScrubStopped {
        try {
            return disk.store().heads(pg, after, max);
        } catch (IndexDamagedException e) {
            throw indexDamaged(disk.id(), e.getMessage());
        }
    }

    private static ScrubStopped indexDamaged(int disk, @Nullable String why) {
        return new ScrubStopped("the index of disk %d cannot be read: %s".formatted(disk, why));
    }

    /** What a member has behind the key, with all operations up to the sequence. */
    List<ContentHead> heads(int member, Key after, int max, long sequence)
            throws ScrubStopped, InterruptedException {
        PgScrubListRequest request =
                PgScrubListRequest.newBuilder()
                        .setPg(pg)
                        .setDisk(member)
                        .setPgEpoch(epoch)
                        .setAfterInode(after.inode())
                        .setAfterChunk(after.chunk())
                        .setMaxHeads(max)
                        .build();
        for (int i = 0; i < ATTEMPTS; i++) {
            PgScrubListReply reply =
                    await(
                            ask(
                                    member,
                                    Method.PG_SCRUB_LIST,
                                    request,
                                    ASK_SECONDS,
                                    PgScrubListReply.parser()),
                            ASK_SECONDS);
            if (reply.getLastSequence() >= sequence) {
                return RecoveryMessages.heads(reply.getHeadsList());
            }
            pause();
        }
        throw new ScrubStopped("disk %d lacks operations that the primary has".formatted(member));
    }

    /** Has a member, or the primary itself, read the chunk. */
    CompletableFuture<ChunkCheck> check(int member, Key key) {
        if (member == disk.id()) {
            CompletableFuture<ChunkCheck> own = new CompletableFuture<>();
            checks.check(pg, key, own::complete, own::completeExceptionally);
            return own;
        }
        return ask(
                        member,
                        Method.PG_SCRUB_CHUNK,
                        PgScrubChunkRequest.newBuilder()
                                .setPg(pg)
                                .setDisk(member)
                                .setPgEpoch(epoch)
                                .setInode(key.inode())
                                .setChunk(key.chunk())
                                .build(),
                        CHECK_SECONDS,
                        PgScrubChunkReply.parser())
                .thenApply(RecoveryMessages::check);
    }

    /** Waits for what {@link #check} promised. */
    static ChunkCheck checked(CompletableFuture<ChunkCheck> check)
            throws ScrubStopped, InterruptedException {
        return await(check, CHECK_SECONDS);
    }

    /**
     * The member lacks something of what the primary has: it is to be compared and copied to. False
     * if that cannot be now.
     */
    boolean memberStale(int member) throws ScrubStopped, InterruptedException {
        return onLoop(owner, () -> serving(owner, disk, pg).replica().onMemberStale(member, epoch));
    }

    /** Tells the other members, so that whoever is primary next knows it too. */
    void scrubbed(ScrubStamps stamps) {
        for (int member : others) {
            var _ =
                    ask(
                                    member,
                                    Method.PG_SCRUBBED,
                                    PgScrubbedRequest.newBuilder()
                                            .setPg(pg)
                                            .setDisk(member)
                                            .setPgEpoch(epoch)
                                            .setSinceMillis(stamps.sinceMillis())
                                            .setLightMillis(stamps.lightMillis())
                                            .setDeepMillis(stamps.deepMillis())
                                            .setDifferences(stamps.differences())
                                            .build(),
                                    ASK_SECONDS,
                                    PgScrubbedReply.parser())
                            .whenComplete((_, failure) -> {
                                if (failure != null) {
                                    LOG.debug("Disk {} was not told of a scrub", member, failure);
                                }
                            });
        }
    }

    /** Before what did not work now is tried again. */
    static void pause() throws InterruptedException {
        LockSupport.parkNanos(PAUSE_NANOS);
        if (Thread.interrupted()) {
            throw new InterruptedException("the data server stops");
        }
    }

    // ---- waiting ------------------------------------------------------------------------------

    private <T extends MessageLite> CompletableFuture<T> ask(
            int member, Method method, MessageLite request, long seconds, Parser<T> parser) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        ask(member, method, request, seconds, parser, answer, ATTEMPTS);
        return answer;
    }

    /** A member that has another map for a moment, or too much to do, is asked again. */
    private <T extends MessageLite> void ask(
            int member,
            Method method,
            MessageLite request,
            long seconds,
            Parser<T> parser,
            CompletableFuture<T> answer,
            int attempts) {
        owner.execute(() -> {
            RpcChannel channel = owner.channel(member);
            if (channel == null) {
                answer.completeExceptionally(
                        new ScrubStopped("the map has no disk %d".formatted(member)));
                return;
            }
            channel.call(
                    method.getNumber(),
                    request,
                    System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds),
                    Heads.reply(
                            parser,
                            (status, reply) -> {
                                if (reply != null) {
                                    answer.complete(reply);
                                } else if (isPassing(status) && attempts > 1) {
                                    owner.after(
                                            PAUSE_NANOS,
                                            () ->
                                                    ask(
                                                            member,
                                                            method,
                                                            request,
                                                            seconds,
                                                            parser,
                                                            answer,
                                                            attempts - 1));
                                } else {
                                    answer.completeExceptionally(
                                            new ScrubStopped(
                                                    "disk %d: %s"
                                                            .formatted(member, status.detail())));
                                }
                            }));
        });
    }

    private static boolean isPassing(RpcStatus status) {
        return status.advice() == Advice.RETRY && !status.unanswered();
    }

    private static <T> T onLoop(PgLoop owner, Callable<T> call)
            throws ScrubStopped, InterruptedException {
        CompletableFuture<T> done = new CompletableFuture<>();
        owner.execute(() -> {
            try {
                done.complete(call.call());
            } catch (Exception e) {
                done.completeExceptionally(e);
            }
        });
        return await(done, ASK_SECONDS);
    }

    private static <T> T await(CompletableFuture<T> future, long seconds)
            throws ScrubStopped, InterruptedException {
        try {
            return future.get(seconds * ATTEMPTS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            throw new ScrubStopped(String.valueOf(cause == null ? e : cause.getMessage()));
        } catch (TimeoutException e) {
            throw new ScrubStopped("no answer came");
        }
    }
}
