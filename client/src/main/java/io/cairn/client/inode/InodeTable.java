package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.common.proto.Attr;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The inodes this client has open, and how often. The MDS counts one open for all handles of an
 * inode where it can; the last handle gives all of them back. Any thread.
 */
public final class InodeTable {
    private static final int MAX_CLOSED = 4096;

    private final ConcurrentHashMap<Long, InodeState> states = new ConcurrentHashMap<>();

    /**
     * What was known of the inodes that were closed last, the oldest first: a question that was
     * answered before what was done to one may be heard of after it. Guarded by its own monitor.
     */
    private final LinkedHashMap<Long, Attr> closed = new LinkedHashMap<>();

    /** Renames of this client that were answered. */
    private final AtomicLong renames = new AtomicLong();

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

    public int size() {
        return states.size();
    }

    /**
     * Attributes as this client knows them, after a reply brought them. Their lease is that of the
     * reply: none where others are newer, or this client's own writes not confirmed.
     */
    public Attr merge(Attr received) {
        InodeState state = states.get(received.getInode());
        Attr newest = newest(received);
        if (state == null) {
            return newest;
        }
        state.observe(newest);
        return state.merged(newest);
    }

    private Attr newest(Attr received) {
        Attr known;
        synchronized (closed) {
            known = closed.get(received.getInode());
        }
        return known != null && Long.compareUnsigned(known.getChange(), received.getChange()) > 0
                ? known
                : received;
    }

    private void noteClosed(@Nullable Attr known) {
        if (known != null) {
            synchronized (closed) {
                closed.putLast(known.getInode(), known);
                if (closed.size() > MAX_CLOSED) {
                    closed.pollFirstEntry();
                }
            }
        }
    }

    // ---- names that were taken away

    /** A rename was answered, which does not say of which file it has taken a name. */
    public void renamed() {
        renames.incrementAndGet();
    }

    public long renames() {
        return renames.get();
    }

    /** Whether it may have lost a name of which it was not told. */
    public boolean mayHaveLostName(InodeState state) {
        return state.renamesKnown() != renames.get();
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
                    }
                    if (known == null) {
                        state.renamesKnown(renames.get());
                    }
                    return state;
                });
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

    /** Tells operations that wait the time, and forgets what is no longer needed. */
    public void tick(long nowNanos) {
        for (InodeState state : states.values()) {
            state.order().tick(nowNanos);
            state.aheads.tick();
            boolean unused;
            synchronized (state) {
                unused = state.handles == 0;
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
                        if (unused) {
                            noteClosed(state.newest());
                        }
                        return unused ? null : known;
                    }
                });
    }

    /** Runs behind all writes issued before it; a handle made in the meantime takes over. */
    private final class LastRelease extends RangeOrder.Entry {
        private final InodeState state;
        private final CompletableFuture<Void> done;
        private boolean wait;

        LastRelease(InodeState state, CompletableFuture<Void> done, boolean always) {
            super(0, Long.MAX_VALUE, false);
            this.state = state;
            this.done = done;
            this.wait = always;
        }

        @Override
        protected void start() {
            CompletableFuture<Void> released = Async.done();
            synchronized (state) {
                long number = state.handles == 0 ? state.takeReadNumber() : 0;
                if (number > 0) {
                    publisher.closeForReading(state, number);
                }
                if (state.handles == 0 && state.mdsOpens > 0) {
                    wait |= state.unconfirmed();
                    int opens = state.mdsOpens;
                    state.mdsOpens = 0;
                    state.appends.closed();
                    released = publisher.release(state, opens);
                    state.delegation.end();
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
