package io.cairn.client.inode;

import com.google.protobuf.ByteString;
import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.client.meta.Results;
import io.cairn.client.name.Born;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.MutationResult;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The inodes this client has open, and how often. The MDS counts one open for all handles of an
 * inode where it can; the last handle gives all of them back. Any thread.
 */
public final class InodeTable {
    /** A name in a directory. */
    public record Name(long directory, ByteString name) {}

    /** How long a delegated file stays open, at least, that no handle is on. */
    private static final long LINGER_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final ConcurrentHashMap<Long, InodeState> states = new ConcurrentHashMap<>();

    /** Files that this client has made and still has open. */
    private final ConcurrentHashMap<Name, InodeState> names = new ConcurrentHashMap<>();

    private final LostFiles lost = new LostFiles();
    private final LongFunction<CompletableFuture<Attr>> getAttr;
    private final Supplier<DataSession> session;
    private final Publisher publisher;
    private final LongPredicate isRound;

    /**
     * @param session the client's newest
     * @param isRound whether what was delegated in that round still is
     */
    public InodeTable(
            LongFunction<CompletableFuture<Attr>> getAttr,
            Supplier<DataSession> session,
            Publisher publisher,
            LongPredicate isRound) {
        this.isRound = isRound;
        this.session = session;
        this.getAttr = getAttr;
        this.publisher = publisher;
    }

    /** The state of an inode some handle is open on, else null. */
    public @Nullable InodeState find(long inode) {
        return states.get(inode);
    }

    public Collection<InodeState> all() {
        return states.values();
    }

    /** Those that are not here any more. */
    public LostFiles lost() {
        return lost;
    }

    public int size() {
        return states.size();
    }

    /**
     * Attributes as this client knows them, after a reply brought them. Their lease is that of the
     * reply: none where others are newer, or this client's own writes not confirmed.
     */
    public Attr merge(Attr received) {
        InodeState state = states.get(received.getInode());
        if (state == null) {
            return received;
        }
        state.observe(received);
        return state.merged(received);
    }

    /** One more handle is being made; {@link #release} gives it back. */
    public InodeState acquire(long inode) {
        return states.compute(
                inode,
                (id, known) -> {
                    InodeState state =
                            known == null
                                    ? new InodeState(
                                            id, session.get(), isRound, () -> getAttr.apply(id))
                                    : known;
                    synchronized (state) {
                        state.handles++;
                        state.closedNanos = 0;
                    }
                    return state;
                });
    }

    /**
     * A file that this client has made, before the MDS has; it is open, once. Its first handle is
     * being made.
     *
     * @return null where the session has ended in which it was to be made
     */
    @Nullable InodeState born(Born file) {
        InodeState state = acquire(file.attr().getInode());
        if (!state.counted(file.attr(), session.get(), file.session())) {
            var _ = release(state);
            return null;
        }
        synchronized (state) {
            state.delegation.making();
            state.lastGrow = file.done();
        }
        var _ =
                file.pending()
                        .answer()
                        .whenComplete((result, thrown) -> made(state, result, thrown));
        return state;
    }

    private static void made(
            InodeState state, @Nullable MutationResult result, @Nullable Throwable thrown) {
        @Nullable FsException failure = Results.failure(result, thrown);
        synchronized (state) {
            state.delegation.made();
            if (failure != null) {
                state.tenure.lose(failure);
            } else if (result != null) {
                state.observe(result.getAttr());
            }
        }
    }

    /**
     * A handle is gone, or was never made; the last one waits for the writes before it, then gives
     * the opens back to the MDS. Completes at once when there is nothing the caller should wait
     * for.
     */
    public CompletableFuture<Void> release(InodeState state) {
        synchronized (state) {
            if (--state.handles > 0) {
                return Async.done();
            }
        }
        return giveBack(state);
    }

    /** Behind all writes issued before: gives the opens back if there are no handles. */
    CompletableFuture<Void> giveBack(InodeState state) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        state.order().submit(new LastRelease(state, done, false));
        return done;
    }

    /** A file that this client has made is delegated to it, in that round. */
    void delegated(InodeState state, Name name, long round) {
        synchronized (state) {
            state.delegation.begin(round);
        }
        named(state, name);
    }

    /** A file that this client has made is known by that name; it is untold what became of it. */
    void named(InodeState state, Name name) {
        synchronized (state) {
            state.name = name;
        }
        names.put(name, state);
    }

    /** The file that this client has made under that name, or has given it; else null. */
    public @Nullable InodeState find(Name name) {
        return names.get(name);
    }

    /**
     * This client has given a name to an inode, perhaps in place of the one that had it.
     *
     * @param from the name that it had
     */
    public void renamed(long inode, Name from, Name to) {
        lost.renamed(inode, from, to);
        InodeState taken = names.remove(to);
        if (taken != null) {
            namesChanged(taken);
        }
        InodeState state = states.get(inode);
        if (state != null && names.remove(from, state)) {
            named(state, to);
        }
    }

    /** This client has removed the name. */
    public void unlinked(Name name) {
        names.remove(name);
        lost.unlinked(name);
    }

    /** This client has removed its only name: others may free it, and its attributes change. */
    public void nameless(long inode) {
        InodeState state = states.get(inode);
        if (state == null) {
            return;
        }
        boolean closed;
        synchronized (state) {
            closed = state.delegation.end() && state.closedNanos != 0;
        }
        if (closed) {
            var _ = giveBack(state);
        }
    }

    /** What this client knows of the file's names may not be all. */
    public void namesChanged(InodeState state) {
        synchronized (state) {
            var _ = state.delegation.end();
        }
    }

    /**
     * A file does not stay open any longer that nobody has open; what is queued from then on finds
     * it closed.
     */
    public CompletableFuture<Void> close(long inode) {
        InodeState state = states.get(inode);
        if (state == null) {
            return Async.done();
        }
        boolean closed;
        synchronized (state) {
            closed = state.closedNanos != 0 && state.delegation.end();
        }
        return closed ? giveBack(state) : Async.done();
    }

    /**
     * Whether a file that has just been closed stays open for a while: it is delegated as long as
     * it is open, and many programs set owner, mode and times of what they have closed. Under the
     * state's monitor.
     */
    private static boolean lingers(InodeState state) {
        long now = System.nanoTime();
        if (!state.isDelegated()) {
            return false;
        }
        if (state.closedNanos == 0) {
            state.closedNanos = now | 1; // not 0
        }
        return now - state.closedNanos < LINGER_NANOS;
    }

    /** Tells operations that wait the time, and forgets what is no longer needed. */
    public void tick(long nowNanos) {
        for (InodeState state : states.values()) {
            state.order().tick(nowNanos);
            state.aheads.tick();
            boolean unused;
            boolean lingered;
            synchronized (state) {
                unused = state.handles == 0;
                lingered = unused && state.closedNanos != 0 && !lingers(state);
            }
            if (lingered) {
                var _ = giveBack(state);
            }
            if (unused) {
                forgetUnused(state);
            }
        }
    }

    /** Gives everything back, whatever handles there are: the client ends. */
    public CompletableFuture<Void> releaseAll() {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (InodeState state : states.values()) {
            state.aheads.close();
            CompletableFuture<Void> done = new CompletableFuture<>();
            synchronized (state) {
                state.handles = 0;
            }
            state.order().submit(new LastRelease(state, done, true));
            all.add(done);
        }
        return CompletableFuture.allOf(all.toArray(CompletableFuture[]::new));
    }

    private void forgetUnused(InodeState state) {
        states.computeIfPresent(
                state.inode(),
                (id, known) -> {
                    synchronized (state) {
                        boolean unused =
                                known == state
                                        && state.handles == 0
                                        && !state.isOpen()
                                        && !state.unconfirmed()
                                        && !state.locks.isUnlocking();
                        if (unused && state.name != null) {
                            names.remove(state.name, state);
                            FsException why = state.lostSinceSettled();
                            if (why != null) {
                                lost.add(new LostFiles.Lost(id, state.name, why));
                            }
                        }
                        return unused ? null : known;
                    }
                });
    }

    /** Runs behind all writes issued before it; a handle made in the meantime takes over. */
    private final class LastRelease extends RangeOrder.Entry {
        private final InodeState state;
        private final CompletableFuture<Void> done;
        private final boolean always;

        LastRelease(InodeState state, CompletableFuture<Void> done, boolean always) {
            super(0, Long.MAX_VALUE, false);
            this.state = state;
            this.done = done;
            this.always = always;
        }

        @Override
        protected void start() {
            CompletableFuture<Void> released = Async.done();
            boolean wait = always;
            synchronized (state) {
                // Behind a write that was answered stands another one of these.
                boolean stays = state.own.promises() || lingers(state);
                if (state.handles == 0 && !always && stays) {
                    Async.finish(done);
                    return;
                }
                state.closedNanos = 0;
                long number = state.handles == 0 ? state.takeReadNumber() : 0;
                if (number > 0) {
                    publisher.closeForReading(state, number);
                }
                if (state.handles == 0 && state.mdsOpens > 0) {
                    wait |= state.unconfirmed();
                    int opens = state.mdsOpens;
                    state.mdsOpens = 0;
                    state.appends.closed();
                    boolean lazily = state.delegation.end() && !wait;
                    released = publisher.release(state, opens, lazily);
                } else if (wait) {
                    released = publisher.confirmed(state); // closed already
                }
            }
            var _ = released.whenComplete((v, t) -> forgetUnused(state));
            if (wait) {
                var _ = released.whenComplete((v, t) -> Async.settle(done, null, t));
            } else {
                Async.finish(done);
            }
        }
    }
}
