package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.name.OwnNames;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.DelegationRecall;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/**
 * Files that are delegated to this client because it made them and nobody else has asked for them:
 * what is done to them is answered before the MDS has it; of directories {@link OwnNames} knows. A
 * recall ends that: all of it is sent, and when it is answered the file is returned.
 *
 * <p>A recall may overtake the answer that delegates: so those that come while a create is without
 * an answer are remembered.
 *
 * <p>Any thread. Its monitor is taken before that of a state.
 */
public final class HeldDelegations {
    private final MetaClient meta;
    private final InodeTable table;
    private final Publisher publisher;
    private final OwnNames names;

    /**
     * If not, all is told before it is answered all the same; sessions that do not know of
     * delegations would keep everybody from having any.
     */
    private final boolean used;

    private final boolean earlyNames;

    /** Tickets of the creates without an answer, ascending. */
    private final TreeSet<Long> creating = new TreeSet<>();

    private long lastTicket;

    /** Recalled while such creates were there, in that order; with the newest of their tickets. */
    private final LinkedHashMap<Long, Long> early = new LinkedHashMap<>();

    /**
     * @param used whether programs are answered before the MDS has what they did
     * @param earlyNames whether that goes for names, too
     */
    public HeldDelegations(
            MetaClient meta,
            InodeTable table,
            Publisher publisher,
            OwnNames names,
            boolean used,
            boolean earlyNames) {
        this.used = used;
        this.earlyNames = used && earlyNames;
        this.names = names;
        this.meta = meta;
        this.table = table;
        this.publisher = publisher;
    }

    /**
     * A create is about to be sent.
     *
     * @return what {@link #created} is told
     */
    public synchronized long creating() {
        creating.add(++lastTicket);
        return lastTicket;
    }

    /**
     * A create was answered, or will not be.
     *
     * @param inode that it has opened; 0: none
     * @param round in which that is delegated; 0: it is not
     * @param delegated called where it is still
     */
    public synchronized void created(long ticket, long inode, long round, Runnable delegated) {
        boolean current = round != 0 && round == meta.delegationRound();
        if (used && current && !early.containsKey(inode)) {
            delegated.run();
        }
        creating.remove(ticket);
        long oldest = creating.isEmpty() ? Long.MAX_VALUE : creating.getFirst();
        while (!early.isEmpty() && early.firstEntry().getValue() < oldest) {
            early.pollFirstEntry();
        }
    }

    /** Whether directories that this client makes are to be delegated to it. */
    public boolean ofDirectories() {
        return earlyNames && meta.delegates();
    }

    /** Must not block. */
    public void recalled(DelegationRecall recall) {
        long round = meta.delegationRound();
        List<Long> known = new ArrayList<>();
        for (long inode : recall.getInodesList()) {
            InodeState state;
            synchronized (this) {
                state = table.find(inode);
                if (!creating.isEmpty()) {
                    early.putLast(inode, lastTicket);
                }
            }
            CompletableFuture<Void> told = state == null ? names.tell(inode) : tell(state);
            if (told.isDone()) {
                known.add(inode);
            } else { // one whose data servers do not answer keeps no other
                var _ =
                        told.whenComplete(
                                (v, thrown) -> meta.returnDelegations(round, List.of(inode)));
            }
        }
        if (!known.isEmpty()) {
            meta.returnDelegations(round, known);
        }
    }

    /**
     * What programs have written to the file is durable, and what it made of its size is committed,
     * when this completes; fails with what was lost. Before the file takes the place of another
     * one, which would be lost for nothing: so it is not enough that the size is on its way, in a
     * session that may end.
     */
    public CompletableFuture<Void> settle(InodeState state) {
        Telling telling = new Telling(state);
        state.order().submit(telling);
        return telling.told.thenCompose(v -> {
            FsException lost = state.lostSinceSettled();
            return lost == null ? Async.done() : CompletableFuture.failedFuture(lost);
        });
    }

    /** Nothing is delegated any more; completes when all that was done has been answered. */
    public CompletableFuture<Void> tellAll() {
        List<CompletableFuture<Void>> told = new ArrayList<>();
        told.add(names.tellAll());
        for (InodeState state : table.all()) {
            boolean untold;
            synchronized (state) {
                untold = state.delegation.end() || state.unconfirmed() || state.own.promises();
            }
            if (untold) {
                told.add(tell(state));
            }
        }
        return Async.all(told);
    }

    /** Sends what is untold of the file, behind its writes; completes when it is answered. */
    private CompletableFuture<Void> tell(InodeState state) {
        Telling telling = new Telling(state);
        boolean closed;
        synchronized (state) {
            boolean was = state.delegation.end();
            if (!was && !state.telling.isDone()) {
                return state.telling; // recalls are repeated
            }
            state.telling = telling.told;
            closed = state.closedNanos != 0;
        }
        state.order().submit(telling);
        if (closed) {
            var _ = table.giveBack(state);
        }
        return telling.told;
    }

    /** Behind all changes of the file before it. */
    private final class Telling extends RangeOrder.Entry {
        private final InodeState state;
        private final CompletableFuture<Void> told = new CompletableFuture<>();

        Telling(InodeState state) {
            super(0, Long.MAX_VALUE, false);
            this.state = state;
        }

        @Override
        protected void start() {
            CompletableFuture<Void> all;
            synchronized (state) {
                if (state.hasView()) { // else nothing was done to it
                    var _ = publisher.publishAwaited(state);
                }
                all = publisher.confirmed(state);
            }
            // What was not done, and will not be, there is no more to tell of.
            var _ = all.whenComplete((v, thrown) -> Async.finish(told));
        }
    }
}
