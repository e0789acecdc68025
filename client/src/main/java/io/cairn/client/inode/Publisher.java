package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.Results;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.common.proto.ReturnAppendOp;
import io.cairn.common.proto.SetLockOp;
import io.cairn.common.proto.Timespec;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells the MDS the sizes and times this client's writes made: at once where a caller waits for it,
 * else at the next tick. Any thread.
 */
public final class Publisher {
    private static final Logger LOG = LoggerFactory.getLogger(Publisher.class);

    /** Mutations without an answer up to which programs need not wait: a part of what is kept. */
    private static final int MAX_UNTOLD = 1024;

    private final MetaClient meta;
    private volatile boolean tellsLeftovers;
    private final Set<InodeState> dirty = ConcurrentHashMap.newKeySet();

    public Publisher(MetaClient meta) {
        this.meta = meta;
    }

    /** Whether the group can be told what failed writes have left beyond the end of a file. */
    public void tellsLeftovers(boolean can) {
        tellsLeftovers = can;
    }

    boolean tellsLeftovers() {
        return tellsLeftovers;
    }

    /** The state has something unsent, and {@link InodeState#wrote} asked for it to be listed. */
    void list(InodeState state) {
        dirty.add(state);
    }

    /**
     * Sends what is unsent and completes when everything sent so far is confirmed. Not limited in
     * time: it is repeated until the session ends in which the file is open.
     */
    CompletableFuture<Void> publish(InodeState state) {
        return publish(state, false);
    }

    /** As {@link #publish(InodeState)}; clears set-user-id and set-group-id as well. */
    CompletableFuture<Void> publish(InodeState state, boolean killPrivileges) {
        return publish(state, killPrivileges, false);
    }

    /**
     * As {@link #publish(InodeState)}, for one who stands among the changes of the file, alone: no
     * other is in flight. So the MDS may cut what failed writes have left beyond the size.
     */
    CompletableFuture<Void> publishAlone(InodeState state) {
        return publish(state, false, tellsLeftovers);
    }

    private CompletableFuture<Void> publish(
            InodeState state, boolean killPrivileges, boolean leftovers) {
        return publish(state, killPrivileges, leftovers, false);
    }

    /** Queues what is unsent; nobody waits for it. Under the state's monitor. */
    private void publishLazily(InodeState state) {
        var _ = publish(state, false, false, true);
    }

    private CompletableFuture<Void> publish(
            InodeState state, boolean killPrivileges, boolean leftovers, boolean lazily) {
        return publish(state, killPrivileges, leftovers, lazily, false);
    }

    /** As {@link #publish(InodeState)}, for one who waits for what is durable by now. */
    CompletableFuture<Void> publishAwaited(InodeState state) {
        return publish(state, false, false, false, true);
    }

    private CompletableFuture<Void> publish(
            InodeState state,
            boolean killPrivileges,
            boolean leftovers,
            boolean lazily,
            boolean awaited) {
        synchronized (state) {
            GrowOp grow = state.takeGrow(killPrivileges, leftovers, awaited);
            if (grow == null) {
                return state.lastGrow;
            }
            Mutation mutation = NewMutation.stamped().setGrow(grow).build();
            return queued(state, grow, send(state, mutation, lazily));
        }
    }

    /**
     * All that was sent so far of sizes, times and attributes is confirmed, or never will be: now
     * somebody waits for it. Under the state's monitor.
     */
    CompletableFuture<Void> confirmed(InodeState state) {
        meta.hurry();
        return Async.all(List.of(state.lastGrow, state.lastChange));
    }

    /**
     * Changes attributes of a file that is delegated to this client, with what is unsent in front;
     * nobody waits for it. A change that is lost after all is a write that is lost.
     *
     * @return false where it is not delegated, or too much is untold
     */
    boolean change(InodeState state, Mutation change) {
        return change(
                state,
                change,
                stamped ->
                        meta.changeDelegated(
                                stamped, state.session().id(), state.delegation.round()));
    }

    /**
     * The same for any change of which the file keeps a new ctime.
     *
     * @param queue called under the state's monitor; null: it is not to be done so
     */
    public boolean change(
            InodeState state,
            Mutation change,
            Function<Mutation, @Nullable PendingMutation> queue) {
        synchronized (state) {
            if (!state.isDelegated() || meta.mutationsOutstanding() > MAX_UNTOLD) {
                return false;
            }
            publishLazily(state);
            Timespec time = Delegation.stamp(change.getTime(), state.merged());
            PendingMutation pending = queue.apply(change.toBuilder().setTime(time).build());
            if (pending == null) {
                return false;
            }
            CompletableFuture<Void> done = new CompletableFuture<>();
            long number = state.delegation.queued(new Delegation.Change(change.getSetAttr(), time));
            state.own.set(change.getSetAttr(), state.own.count());
            state.lastChange = done;
            var _ =
                    pending.answer()
                            .whenComplete((result, thrown) ->
                                    changed(state, number, done, result, thrown));
            return true;
        }
    }

    private void changed(
            InodeState state,
            long number,
            CompletableFuture<Void> done,
            @Nullable MutationResult result,
            @Nullable Throwable thrown) {
        FsException failure = Results.failure(result, thrown);
        synchronized (state) {
            state.delegation.answered();
            if (failure == null && result != null && result.hasAttr()) {
                state.observe(result.getAttr());
                state.delegation.executed(number);
            } else if (failure != null) {
                state.tenure.lose(failure);
            }
        }
        if (failure != null) {
            LOG.warn("Inode {} was not changed: {}", state.inode(), failure.getMessage());
        }
        Async.settle(done, null, failure);
    }

    /**
     * Makes the file at least this long, whoever truncated it since; as {@link #publish} not
     * limited in time.
     */
    CompletableFuture<Void> extend(InodeState state, long size, long nowNanos) {
        synchronized (state) {
            GrowOp grow = state.own.takeExtension(size, nowNanos);
            Mutation mutation = NewMutation.stamped().setGrow(grow).build();
            return queued(state, grow, send(state, mutation));
        }
    }

    /**
     * Gives opens back, with what is unsent; no change is in flight. Under the state's monitor.
     *
     * @param lazily whether nobody waits for it
     */
    CompletableFuture<Void> release(InodeState state, int opens, boolean lazily) {
        ReleaseOp.Builder release = ReleaseOp.newBuilder().setInode(state.inode()).setOpens(opens);
        GrowOp grow = state.takeGrow(false, tellsLeftovers, true);
        if (grow != null) {
            release.setGrow(grow);
        }
        Mutation mutation = NewMutation.stamped().setRelease(release).build();
        PendingMutation pending = send(state, mutation, lazily);
        return grow == null ? Async.ignoringValue(pending.reply()) : queued(state, grow, pending);
    }

    /** What is open for reading is closed, behind nothing. Under the state's monitor. */
    void closeForReading(InodeState state, long number) {
        meta.closeForReading(state.session().id(), state.inode(), number);
    }

    /** Gives the right to append back, with what is unsent. Under the state's monitor. */
    CompletableFuture<Void> returnAppend(InodeState state) {
        ReturnAppendOp.Builder giveBack = ReturnAppendOp.newBuilder().setInode(state.inode());
        GrowOp grow = state.takeGrow(false, false, true);
        if (grow != null) {
            giveBack.setGrow(grow);
        }
        return queued(state, grow, NewMutation.stamped().setReturnAppend(giveBack).build());
    }

    /**
     * Unlocks, behind what is unsent: who has the lock next sees what was written under this one.
     * Under the state's monitor.
     *
     * @param range without a session
     */
    CompletableFuture<Void> unlock(InodeState state, FileLock range) {
        var _ = publish(state);
        SetLockOp unlock = SetLockOp.newBuilder().setLock(range).setUnlock(true).build();
        return queued(state, null, NewMutation.stamped().setSetLock(unlock).build());
    }

    /** Of the session in which the file is open: to a later one it says nothing. */
    private PendingMutation send(InodeState state, Mutation mutation, boolean lazily) {
        long session = state.session().id();
        return lazily
                ? meta.mutateLazily(mutation, session)
                : meta.mutate(mutation, MetaClient.never(), session);
    }

    private PendingMutation send(InodeState state, Mutation mutation) {
        return send(state, mutation, false);
    }

    private CompletableFuture<Void> queued(
            InodeState state, @Nullable GrowOp grow, Mutation mutation) {
        PendingMutation pending = send(state, mutation);
        return grow == null ? Async.ignoringValue(pending.reply()) : queued(state, grow, pending);
    }

    private CompletableFuture<Void> queued(InodeState state, GrowOp grow, PendingMutation pending) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        // This one publishes what a failed one did not.
        CompletableFuture<Void> before =
                state.lastGrow.isCompletedExceptionally()
                        ? CompletableFuture.completedFuture(null)
                        : state.lastGrow;
        state.lastGrow = done;
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> {
                            FsException failure = grown(state, grow, result, thrown);
                            // Answers come in order, failures of the session all at once.
                            var _ =
                                    before.whenComplete((v, t) ->
                                            Async.settle(
                                                    done, null, failure == null ? t : failure));
                        });
        return done;
    }

    private @Nullable FsException grown(
            InodeState state,
            GrowOp grow,
            @Nullable MutationResult result,
            @Nullable Throwable thrown) {
        if (result == null) {
            state.growLost(grow);
            return Async.failure(thrown == null ? new IllegalStateException() : thrown);
        }
        FsException failure = Results.failure(result);
        if (failure == null) {
            synchronized (state) {
                if (result.hasAttr()) {
                    state.observe(result.getAttr());
                    state.own.aliveAfter(InodeState.cutSequence(result.getAttr()));
                }
                state.own.grown();
            }
            return null;
        }
        LOG.warn(
                "Size {} of inode {} was not published: {}",
                grow.getSize(),
                state.inode(),
                failure.getMessage());
        synchronized (state) {
            if (failure.errno() == Errno.ENOENT || failure.errno() == Errno.ESTALE) {
                state.own.grown();
                state.own.forget();
            } else if (state.own.growFailed(grow)) {
                dirty.add(state);
            }
        }
        return failure;
    }

    /** Publishes everything listed, except where an earlier publication is still in flight. */
    public void tick() {
        for (InodeState state : List.copyOf(dirty)) {
            if (!state.lastGrow().isDone()) {
                continue;
            }
            dirty.remove(state);
            synchronized (state) {
                state.own.unlisted();
            }
            var _ = publish(state);
        }
    }

    /** Inodes with something the MDS has not been told. */
    public List<Long> unpublished() {
        List<Long> inodes = new ArrayList<>();
        dirty.forEach(s -> inodes.add(s.inode()));
        return inodes;
    }
}
