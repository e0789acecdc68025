package io.cairn.client.data;

import io.cairn.client.base.Channels;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.PrimaryDisk;
import io.cairn.common.proto.InodeChangesReply;
import io.cairn.common.proto.InodeChangesRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.BackOff;
import io.cairn.common.rpc.Heads;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Asks the primary of a placement group which blocks of an inode it has, again until it answers.
 * Any thread.
 */
public final class InodeChanges {
    private static final int CHUNKS = 128;

    private final MapHolder map;
    private final Channels channels;
    private final ScheduledExecutorService timer;
    private final Runnable refreshMap;
    private final long attemptNanos;

    /**
     * @param refreshMap asks for a newer map, which then comes as a push
     */
    public InodeChanges(
            MapHolder map,
            Channels channels,
            ScheduledExecutorService timer,
            Runnable refreshMap,
            long attemptNanos) {
        this.map = map;
        this.channels = channels;
        this.timer = timer;
        this.refreshMap = refreshMap;
        this.attemptNanos = attemptNanos;
    }

    /**
     * A part of the list.
     *
     * @param session in which it is asked: when it has ended, nobody is
     * @param after number of a chunk, -1 for all
     * @param since position of an earlier answer; 0: all blocks
     */
    public CompletableFuture<InodeChangesReply> ask(
            DataSession session, int pg, long inode, int after, long since) {
        CompletableFuture<InodeChangesReply> reply = new CompletableFuture<>();
        InodeChangesRequest.Builder request =
                InodeChangesRequest.newBuilder()
                        .setPg(pg)
                        .setSession(session.id())
                        .setInode(inode)
                        .setAfterChunk(after)
                        .setSince(since)
                        .setMaxChunks(CHUNKS);
        attempt(session, request, reply, 1);
        return reply;
    }

    private void attempt(
            DataSession session,
            InodeChangesRequest.Builder request,
            CompletableFuture<InodeChangesReply> reply,
            int number) {
        ClusterMap present = map.current();
        @Nullable FsException ended = session.ended();
        if (ended != null || reply.isDone()) {
            reply.completeExceptionally(
                    ended == null ? new FsException(Errno.EINTR, "given up") : ended);
            return;
        }
        @Nullable PrimaryDisk primary = present.primary(request.getPg());
        if (primary == null) {
            later(session, request, reply, number, true);
            return;
        }
        channels.channel(primary.address())
                .call(
                        Method.INODE_CHANGES_VALUE,
                        request.setMapEpoch(present.epoch()).build(),
                        System.nanoTime() + attemptNanos,
                        (status, head, payload) -> {
                            if (status.ok()) {
                                reply.complete(Heads.parse(InodeChangesReply.parser(), head));
                            } else if (status.advice() == Advice.GIVE_UP
                                    || status.advice() == Advice.FENCED) {
                                reply.completeExceptionally(
                                        new FsException(status.errno(), status.detail()));
                            } else {
                                boolean elsewhere = status.advice() == Advice.REFRESH_MAP;
                                later(session, request, reply, number, elsewhere);
                            }
                        });
    }

    private void later(
            DataSession session,
            InodeChangesRequest.Builder request,
            CompletableFuture<InodeChangesReply> reply,
            int number,
            boolean elsewhere) {
        if (elsewhere) {
            refreshMap.run();
        }
        var _ =
                timer.schedule(
                        () -> attempt(session, request, reply, number + 1),
                        BackOff.REQUESTS.delayNanos(number),
                        TimeUnit.NANOSECONDS);
    }
}
