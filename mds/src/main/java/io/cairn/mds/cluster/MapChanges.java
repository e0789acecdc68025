package io.cairn.mds.cluster;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.MapChangeEntry;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Changes the cluster map, one change at a time, each made from the map that the one before left.
 * The control thread only; the futures complete on it.
 */
public final class MapChanges {
    /** An eviction or another leader may have changed the map in between. */
    private static final int ATTEMPTS = 8;

    private final EntryLog entries;
    private final ControlReader state;
    private final Control control;
    private final Queue<Change> queue = new ArrayDeque<>();
    private boolean busy;

    private record Change(
            Function<ClusterMap, MapUpdate.@Nullable Builder> edit,
            CompletableFuture<ClusterMap> done,
            int attempt) {}

    public MapChanges(EntryLog entries, ControlReader state, Control control) {
        this.entries = entries;
        this.state = state;
        this.control = control;
    }

    ClusterMap current() {
        return state.map();
    }

    /**
     * @param edit makes the increment for a map, or null if none is needed; epochs are filled in.
     *     May be asked again with a newer map
     * @return the map with the change in it
     */
    public CompletableFuture<ClusterMap> change(
            Function<ClusterMap, MapUpdate.@Nullable Builder> edit) {
        CompletableFuture<ClusterMap> done = new CompletableFuture<>();
        queue.add(new Change(edit, done, 1));
        next();
        return done;
    }

    private void next() {
        if (busy) {
            return;
        }
        @Nullable Change change = queue.poll();
        if (change != null) {
            run(change);
        }
    }

    private void run(Change change) {
        ClusterMap base = current();
        MapUpdate.@Nullable Builder update;
        try {
            update = change.edit.apply(base);
        } catch (RuntimeException e) {
            change.done.completeExceptionally(e);
            next();
            return;
        }
        if (update == null) {
            change.done.complete(base);
            next();
            return;
        }
        busy = true;
        update.setBaseEpoch(base.epoch()).setEpoch(base.epoch() + 1);
        var _ =
                entries.submit(
                                LogEntry.newBuilder()
                                        .setMapChange(
                                                MapChangeEntry.newBuilder()
                                                        .setBaseEpoch(base.epoch())
                                                        .setUpdate(update)))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    busy = false;
                                    if (failure != null) {
                                        change.done.completeExceptionally(failure);
                                    } else if (reply.getErrno() == 0) {
                                        change.done.complete(current());
                                    } else if (reply.getErrno() == Errno.EAGAIN.number()
                                            && change.attempt < ATTEMPTS) {
                                        run(
                                                new Change(
                                                        change.edit,
                                                        change.done,
                                                        change.attempt + 1));
                                        return;
                                    } else {
                                        change.done.completeExceptionally(
                                                new FsException(
                                                        Errno.of(reply.getErrno()),
                                                        reply.getDetail()));
                                    }
                                    next();
                                },
                                control);
    }

    /** Leadership is lost: what has not been submitted fails. */
    public void end() {
        for (Change change : queue) {
            change.done.completeExceptionally(
                    new FsException(Errno.EAGAIN, "this member no longer leads"));
        }
        queue.clear();
    }
}
