package io.cairn.dataserver.replication;

import io.cairn.dataserver.store.PgLogEntry;
import io.netty.util.ReferenceCountUtil;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * From a new PG epoch to serving in it: every member is asked for its history, the longest wins,
 * the primary takes over what it lacks, sends each backup what that lacks, and logs a NOOP, or a
 * SPLIT, whose commit proves that all members share one history. Histories are asked only of
 * durable operations, and members refuse older epochs from the moment they answer, so what was
 * answered stays true. Owner's thread only.
 *
 * <p>Without an answer of each in-sync member the PG waits: the metadata service takes those out
 * that do not answer.
 */
final class Peering {
    /** After the own log could not be read, in intervals of asking: 5 s. */
    private static final int LOAD_PAUSE = 20;

    private final Primary primary;
    private final PgOutputs out;
    private final PgLog log;
    private final InFlightRing ring;
    private @Nullable PeerProgress best;
    private long noopSequence;
    private long askedNanos;
    private boolean loading;
    private boolean loadFailed;
    private long loadFailedNanos;
    private long loadingAfter;

    Peering(Primary primary, PgOutputs out, PgLog log, InFlightRing ring) {
        this.primary = primary;
        this.out = out;
        this.log = log;
        this.ring = ring;
    }

    void start() {
        best = null;
        primary.become(PgState.QUERYING, "epoch " + primary.epoch());
        ask();
        queryDone();
    }

    /** The member that has what this one lacks; null if there is none. */
    @Nullable PeerProgress source() {
        return best;
    }

    /** Repeats questions that were not answered. */
    void tick(long nowNanos) {
        if (nowNanos - askedNanos > primary.askNanos()) {
            ask();
        }
    }

    private void ask() {
        askedNanos = primary.nowNanos();
        PeerProgress source = best;
        if (primary.state() == PgState.FETCHING && source != null && !log.dropping()) {
            out.sendFetch(source.disk, primary.epoch(), log.lastSequence());
        } else if (primary.state() == PgState.QUERYING) {
            for (PeerProgress peer : primary.peers()) {
                if (peer.toBeQueried(askedNanos, primary.resendNanos())) {
                    out.sendQuery(peer.disk, primary.epoch());
                }
            }
        }
    }

    void onHistory(int disk, PgHistory history, DiskSpace space) {
        PeerProgress peer = primary.peer(disk);
        primary.ledger().report(disk, space);
        if (peer != null && peer.history == null && primary.state() == PgState.QUERYING) {
            peer.history = history;
            queryDone();
        }
    }

    /** Returns true if peering was waiting for it. */
    boolean onDurable() {
        if (primary.state() == PgState.QUERYING) {
            queryDone();
            return true;
        }
        return false;
    }

    private void queryDone() {
        if (log.dropping() || !log.allDurable()) {
            return;
        }
        PgHistory longest = log.history();
        PeerProgress source = null;
        if (!longest.isComplete()) {
            primary.become(PgState.DAMAGED, "this disk is in sync and lacks content");
            return;
        }
        for (PeerProgress peer : primary.peers()) {
            PgHistory history = peer.history;
            if (history == null) {
                return;
            }
            if (!history.isComplete()) {
                primary.become(
                        PgState.DAMAGED, "disk " + peer.disk + " is in sync and lacks content");
                return;
            }
            if (history.longerThan(longest)) {
                longest = history;
                source = peer;
            }
        }
        best = source;
        if (source == null) {
            resend();
            return;
        }
        long common = longest.commonSequence(log.history());
        if (common == PgHistory.NONE) {
            damaged(source.disk, longest);
            return;
        }
        primary.become(PgState.FETCHING, "disk " + source.disk + " has the longest history");
        if (common < log.lastSequence()) {
            log.dropStarted();
            out.dropTail(common);
        } else {
            ask();
        }
    }

    void tailDropped() {
        if (primary.state() == PgState.FETCHING) {
            ask();
        } else if (primary.state() == PgState.QUERYING) {
            queryDone();
        }
    }

    /** Takes over the entries' payloads. */
    void onFetched(int disk, List<PgLogEntry> entries) {
        PeerProgress source = best;
        boolean wanted =
                primary.state() == PgState.FETCHING
                        && !log.dropping()
                        && source != null
                        && source.disk == disk;
        boolean room = true;
        for (PgLogEntry entry : entries) {
            boolean next = wanted && room && entry.sequence() == log.lastSequence() + 1;
            if (!next || !primary.appendFetched(entry)) {
                // Without room the next tick asks for it again: no client was told of it.
                room &= !next;
                ReferenceCountUtil.release(entry.payload());
            }
        }
        if (wanted && source != null && source.history != null) {
            if (log.lastSequence() < source.history.lastSequence()) {
                if (!entries.isEmpty() && room) {
                    ask();
                }
            } else {
                resend();
            }
        }
    }

    private void resend() {
        PgHistory own = log.history();
        for (PeerProgress peer : primary.peers()) {
            PgHistory history = peer.history;
            long common = history == null ? PgHistory.NONE : own.commonSequence(history);
            if (history == null || common == PgHistory.NONE) {
                damaged(peer.disk, history == null ? own : history);
                return;
            }
            peer.durable = common;
            peer.next = common + 1;
            peer.lost = false;
            peer.progressNanos = primary.nowNanos();
            primary.settle(peer);
        }
        primary.become(PgState.RESENDING, "members answered");
        primary.appendFirst();
        noopSequence = log.lastSequence();
        for (PeerProgress peer : primary.peers()) {
            primary.pump(peer);
        }
    }

    /** Reads what members lack from the own store into the ring, to send it again. */
    void load() {
        boolean pausing =
                loadFailed
                        && primary.nowNanos() - loadFailedNanos < LOAD_PAUSE * primary.askNanos();
        if (!loading && !pausing) {
            loadFailed = false;
            loading = true;
            loadingAfter = log.lastSequence();
            for (PeerProgress peer : primary.peers()) {
                loadingAfter = Math.min(loadingAfter, peer.next - 1);
            }
            out.readEntries(loadingAfter);
        }
    }

    /** The next tick after a pause asks for them again. */
    void onEntriesFailed() {
        loading = false;
        loadFailed = true;
        loadFailedNanos = primary.nowNanos();
    }

    /** Takes over the entries' payloads. */
    void onEntries(List<PgLogEntry> entries) {
        loading = false;
        // Nothing comes of them in a damaged group: they would stay in flight for nobody.
        boolean useful = primary.state() != PgState.DAMAGED;
        for (int i = entries.size() - 1; i >= 0; i--) {
            PgLogEntry entry = entries.get(i);
            boolean fits =
                    useful
                            && entry.sequence() == ring.first() - 1
                            && log.epochAt(entry.sequence()) == entry.epoch();
            if (fits) {
                ring.addFirst(primary.resent(entry));
            } else {
                ReferenceCountUtil.release(entry.payload());
            }
        }
        if (primary.state() == PgState.RESENDING || primary.state() == PgState.ACTIVE) {
            for (PeerProgress peer : primary.peers()) {
                if (peer.next >= ring.first()) {
                    primary.pump(peer);
                } else if (peer.next > loadingAfter && peer.next <= log.lastSequence()) {
                    primary.become(
                            PgState.DAMAGED,
                            "disk %d lacks operation %d, which left the log here"
                                    .formatted(peer.disk, peer.next));
                    return;
                }
            }
        }
    }

    void committed(long sequence) {
        if (primary.state() == PgState.RESENDING && sequence >= noopSequence) {
            primary.become(PgState.ACTIVE, "epoch " + primary.epoch() + " is committed");
        }
    }

    private void damaged(int disk, PgHistory history) {
        primary.become(
                PgState.DAMAGED,
                "history of disk %d (%s) does not continue what is committed (own: %s)"
                        .formatted(disk, history, log.history()));
    }
}
