package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.replication.RecoveryOutputs.Base;
import io.cairn.dataserver.replication.RecoveryOutputs.Copy;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.replication.RecoveryOutputs.Step;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.PgLogEntry;
import io.cairn.dataserver.wal.Completeness;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The primary's side of recovery: brings learners, one step at a time, to where they may join the
 * in-sync set. A learner is sent all operations from its own end on, if the log reaches back to it.
 * Otherwise it begins anew at what is committed here, and what was changed since its content was
 * complete is copied, chunk by chunk; while a chunk is on its way, nothing is admitted for it.
 *
 * <p>From the moment that the metadata service is asked to let it join, a learner counts for
 * commits: whether it has joined is known with the next epoch only, and then everything
 * acknowledged must be on it (as the high watermark of Kafka's partitions counts pending expansions
 * of the in-sync set, KIP-497). It is not asked before everything is committed behind which the
 * learner has logged its content: what it logged behind an operation that is dropped is void, and a
 * member that lacks content serves nobody. Owner's thread only.
 */
final class Learners {
    /** A learner that lacks more operations than this is copied to instead. */
    private static final int MAX_LOG_OPS = 4096;

    /** Operations on their way to a learner: it must not take the memory that members need. */
    private static final int WINDOW = 64;

    private static final long NOTHING = 0;

    /** Nothing is dropped before it is known what a learner has. */
    private static final long ALL = Long.MAX_VALUE;

    private final Primary primary;
    private final PgOutputs out;
    private final PgLog log;
    private final InFlightRing ring;
    private final List<Progress> all = new ArrayList<>();

    /**
     * Disks of which a scrub found that they lack something, though they were in sync, until they
     * have logged that nothing they have counts: from then on other primaries know it from them.
     * One that comes before that does not, until the next scrub.
     */
    private final Set<Integer> lacking = new HashSet<>();

    private long steps;

    /** What a learner is doing. */
    private enum Stage {
        /** Not known yet. */
        ASKED,
        /** Begins anew at a later position. */
        RESETTING,
        /** Content is compared and copied; operations are sent. */
        COPIED,
        /** Has all content; operations are sent. */
        FOLLOWS,
        /** Lacks a few operations: what is not committed yet waits for it. */
        COUNTS,
        /** The metadata service was asked to let it join. */
        JOINS
    }

    /** Of one learner in the present epoch. */
    private final class Progress {
        final PeerProgress peer;
        Stage stage = Stage.ASKED;
        long askedNanos;
        boolean reading;

        /** It has missed operations up to here, as far as it has said what it has. */
        private long missedUpTo;

        /** Whether the content may differ in what was changed before, too. */
        boolean distrusted;

        /** What is there of the content, but for what is copied in this epoch. */
        Completeness content = Completeness.NOTHING;

        private Key after = Key.FIRST;
        private @Nullable ContentPage own;
        private @Nullable ContentPage theirs;
        private final List<ContentHead> todo = new ArrayList<>();

        /** What is being copied, or is about to be. */
        private @Nullable Key held;

        private long failedNanos;

        /** Number of the step under way. */
        private long awaited = NOTHING;

        private boolean listing;
        private boolean listed;

        /**
         * At the learner everything of its content was logged behind operations up to here at most,
         * and is void should they be dropped there.
         */
        private long completedAt;

        Progress(int disk, long nowNanos) {
            peer = new PeerProgress(disk, nowNanos);
            askedNanos = nowNanos - primary.askNanos();
            failedNanos = askedNanos;
        }

        boolean takesOperations() {
            return switch (stage) {
                case ASKED, RESETTING -> false;
                case COPIED, FOLLOWS, COUNTS, JOINS -> true;
            };
        }

        boolean counts() {
            return stage == Stage.COUNTS || stage == Stage.JOINS;
        }

        /** Whether one more operation may be on its way. */
        boolean hasRoom() {
            return peer.next - 1 - peer.durable < WINDOW;
        }

        // ---- beginning ------------------------------------------------------------------------

        private void ask(long shared) {
            askedNanos = primary.nowNanos();
            awaited = ++steps;
            out.recovery().sendAsk(peer.disk, primary.epoch(), awaited, shared);
        }

        void begins(long number, PgHistory history) {
            boolean wanted = stage == Stage.ASKED && number == awaited;
            if (!wanted || history.committedSequence() > log.committed()) {
                return;
            }
            long shared = Math.min(history.sharedWith(log.history()), log.committed());
            if (shared < history.lastSequence()) {
                ask(shared);
                return;
            }
            awaited = NOTHING;
            peer.history = history;
            missedUpTo = log.lastSequence();
            distrusted = lacking.contains(peer.disk);
            content =
                    distrusted
                            ? Completeness.upTo(history.content().sequence())
                            : history.content();
            peer.durable = history.lastSequence();
            peer.next = peer.durable + 1;
            if (log.lastSequence() - peer.durable > MAX_LOG_OPS || distrusted) {
                reset();
            } else {
                follows();
            }
        }

        private void follows() {
            stage = content.isAll() ? Stage.FOLLOWS : Stage.COPIED;
            peer.lost = false;
            peer.progressNanos = primary.nowNanos();
            after = Key.FIRST;
            listed = false;
            todo.clear();
            if (stage == Stage.COPIED) {
                list();
            }
            pump();
        }

        /** The log does not reach back to what it has. */
        void reset() {
            stage = Stage.RESETTING;
            held = null;
            listing = false;
            Reset to =
                    new Reset(
                            ++steps,
                            log.epochAt(log.committed()),
                            log.committed(),
                            primary.answeredUpTo(log.committed()),
                            lacking.contains(peer.disk));
            content = content.lackingAfter(peer.durable);
            out.recovery()
                    .sendReset(
                            peer.disk,
                            primary.epoch(),
                            to,
                            step(
                                    () -> {
                                        lacking.remove(peer.disk);
                                        peer.durable = to.sequence();
                                        peer.next = to.sequence() + 1;
                                        follows();
                                    },
                                    () -> stage = Stage.ASKED));
        }

        /** The only step under way; answers to earlier ones are void. */
        private Step step(Runnable done, Runnable failed) {
            long number = steps;
            awaited = number;
            return new Step() {
                @Override
                public void done() {
                    end(done);
                }

                @Override
                public void failed(RpcStatus status) {
                    end(failed);
                }

                private void end(Runnable then) {
                    if (all.contains(Progress.this) && awaited == number) {
                        awaited = NOTHING;
                        askedNanos = primary.nowNanos();
                        then.run();
                    }
                }
            };
        }

        // ---- operations -----------------------------------------------------------------------

        void pump() {
            if (!takesOperations() || peer.lost || peer.next > log.lastSequence()) {
                return;
            }
            if (peer.next < ring.first()) {
                if (!reading && peer.durable == peer.next - 1) {
                    reading = true;
                    out.recovery().readEntriesFor(peer.disk, primary.epoch(), peer.durable);
                }
                return;
            }
            while (hasRoom() && peer.next <= log.lastSequence()) {
                InFlight op = ring.get(peer.next);
                if (op == null) {
                    return;
                }
                send(op.entry);
            }
        }

        private void send(PgLogEntry entry) {
            primary.send(peer, entry, log.epochAt(entry.sequence() - 1));
            if (entry.sequence() <= missedUpTo) {
                out.recovery().sentMissed(entry.payload().readableBytes());
            }
        }

        void advanced() {
            pump();
            copy();
            join();
        }

        /** Takes over the entries' payloads. */
        void onEntries(long readAfter, List<PgLogEntry> entries) {
            reading = false;
            boolean wanted = takesOperations() && readAfter == peer.next - 1;
            if (wanted && entries.isEmpty()) {
                boolean counted = counts();
                reset();
                if (counted) {
                    primary.advance();
                }
            }
            for (PgLogEntry entry : entries) {
                if (wanted && entry.sequence() == peer.next) {
                    send(entry);
                }
                entry.payload().release();
            }
        }

        // ---- content --------------------------------------------------------------------------

        /** The next part of what is here and there. */
        private void list() {
            own = null;
            theirs = null;
            awaited = ++steps;
            listing = true;
            askAgain();
        }

        private void askAgain() {
            askedNanos = primary.nowNanos();
            if (own == null) {
                out.recovery().listContent(primary.epoch(), awaited, after);
            }
            if (theirs == null) {
                out.recovery().sendListContent(peer.disk, primary.epoch(), awaited, after);
            }
        }

        void onOwn(ContentPage page) {
            if (page.number() == awaited) {
                own = page;
                compare();
            }
        }

        void onTheirs(ContentPage page) {
            if (page.number() == awaited) {
                theirs = page;
                compare();
            }
        }

        private void compare() {
            ContentPage here = own;
            ContentPage there = theirs;
            if (here == null || there == null) {
                return;
            }
            ContentComparison comparison = new ContentComparison(here, there, content, distrusted);
            todo.addAll(comparison.different());
            Key end = comparison.end();
            listed = end == null;
            after = end == null ? after : end;
            own = null;
            theirs = null;
            listing = false;
            awaited = NOTHING;
            next();
        }

        private void next() {
            held = null;
            if (!todo.isEmpty()) {
                copy();
            } else if (listed) {
                complete();
            } else {
                list();
            }
        }

        /**
         * Once everything of the next chunk that was admitted is committed, and sent; from then on
         * nothing more is admitted for it. While the learner does not take what it is sent, nothing
         * waits for it.
         */
        void copy() {
            if (todo.isEmpty() || awaited != NOTHING || stage != Stage.COPIED) {
                return;
            }
            boolean pauses = primary.nowNanos() - failedNanos < primary.askNanos();
            if (pauses || peer.lost || peer.next <= log.lastSequence()) {
                held = null;
                return;
            }
            if (held == null && !out.recovery().mayCopy(peer.disk)) {
                return;
            }
            ContentHead there = todo.getFirst();
            Key head = there.key();
            held = head;
            if (ring.newestOverlap(everythingOf(head)) > log.committed()) {
                return;
            }
            todo.removeFirst();
            Copy copy = new Copy(++steps, 0, log.lastSequence(), head.inode(), head.chunk());
            out.recovery()
                    .copy(
                            peer.disk,
                            primary.epoch(),
                            copy,
                            new Base(baseSequence(there), there.lengthBytes()),
                            step(
                                    this::next,
                                    () -> {
                                        held = null;
                                        failedNanos = primary.nowNanos();
                                        if (head.chunk() == Key.INODE) {
                                            todo.addFirst(there); // its chunks wait for it
                                        } else {
                                            todo.addLast(there);
                                        }
                                    }));
        }

        /** Who lacks what it must have has nothing that a copy could leave out. */
        private long baseSequence(ContentHead there) {
            boolean lacks = there.lengthBytes() == 0 || distrusted;
            return lacks ? 0 : ContentComparison.upTo(content, there.key());
        }

        private void complete() {
            out.recovery()
                    .sendCompleted(
                            peer.disk,
                            primary.epoch(),
                            ++steps,
                            step(
                                    () -> {
                                        content = Completeness.ALL;
                                        completedAt = log.lastSequence();
                                        stage = Stage.FOLLOWS;
                                        join();
                                    },
                                    () -> {}));
        }

        boolean holds(DataOp op, ByteBuf payload) {
            Key head = held;
            return head != null
                    && switch (op.type()) {
                        case WRITE ->
                                op.inode() == head.inode()
                                        && (op.chunk() == head.chunk()
                                                || head.chunk() == Key.INODE);
                        case TRUNCATE_INODE -> op.inode() == head.inode();
                        case DELETE_INODES ->
                                LongStream.of(DeleteInodesFormat.decode(payload))
                                        .anyMatch(inode -> inode == head.inode());
                        case NOOP, SPLIT, MERGE, READ -> false;
                    };
        }

        // ---- joining --------------------------------------------------------------------------

        void join() {
            if (stage == Stage.FOLLOWS
                    && log.committed() >= completedAt
                    && !peer.lost
                    && log.lastSequence() - peer.durable < WINDOW
                    && out.recovery().mayJoin()) {
                stage = Stage.COUNTS;
                askedNanos = primary.nowNanos();
            }
            if (stage == Stage.COUNTS && peer.durable >= log.committed()) {
                stage = Stage.JOINS;
                askToJoin();
            }
        }

        private void askToJoin() {
            askedNanos = primary.nowNanos();
            out.recovery().askToJoin(peer.disk, primary.epoch());
        }

        /** The metadata service was not asked yet: the others go on without it. */
        private void countsNoMore() {
            stage = Stage.FOLLOWS;
            primary.advance();
        }

        void tick(long nowNanos) {
            boolean due = nowNanos - askedNanos > primary.askNanos();
            switch (stage) {
                case ASKED -> {
                    if (due) {
                        ask(ALL);
                    }
                }
                case RESETTING -> {}
                case COPIED -> {
                    if (!todo.isEmpty()) {
                        copy();
                    } else if (due && listing) {
                        askAgain();
                    } else if (due && awaited == NOTHING) {
                        next();
                    }
                }
                case FOLLOWS -> join();
                case COUNTS -> {
                    if (due || peer.lost) {
                        countsNoMore();
                    }
                }
                case JOINS -> {
                    if (due) {
                        askToJoin();
                    }
                }
            }
            if (takesOperations() && primary.isToBeSent(peer, nowNanos)) {
                pump();
                primary.tellCommitted(peer);
            }
        }
    }

    Learners(Primary primary, PgOutputs out, PgLog log, InFlightRing ring) {
        this.primary = primary;
        this.out = out;
        this.log = log;
        this.ring = ring;
    }

    private static DataOp everythingOf(Key head) {
        int chunk = Math.max(0, head.chunk());
        return DataOp.read(
                0,
                new DataOp.Range(head.inode(), chunk, 0, Integer.MAX_VALUE),
                DataOp.Caller.NONE,
                DataOp.Known.map(0));
    }

    // ---- from the primary ---------------------------------------------------------------------

    /**
     * A member lacks something that the history says it has. Should it leave the in-sync set, all
     * of its content is compared before it joins again, however far the log reaches back.
     */
    void distrust(int disk) {
        lacking.add(disk);
    }

    void newEpoch(List<Integer> disks, long nowNanos) {
        all.clear();
        steps = 0;
        disks.forEach(d -> all.add(new Progress(d, nowNanos)));
    }

    void tick(long nowNanos) {
        for (int i = 0; i < all.size(); i++) {
            all.get(i).tick(nowNanos);
        }
    }

    /** An operation was appended here. */
    void appended(PgLogEntry entry, long previousEpoch) {
        for (int i = 0; i < all.size(); i++) {
            Progress p = all.get(i);
            PeerProgress peer = p.peer;
            boolean isNext = peer.next == entry.sequence() && !peer.lost;
            if (isNext && p.takesOperations() && p.hasRoom()) {
                primary.send(peer, entry, previousEpoch);
            }
        }
    }

    /** The part of what is durable at the members that those who are joining have too. */
    long counted(long durable) {
        long least = durable;
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).counts()) {
                least = Math.min(least, all.get(i).peer.durable);
            }
        }
        return least;
    }

    /** Whether the chunk is being copied, so that the operation has to wait. */
    boolean holds(DataOp op, ByteBuf payload) {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).holds(op, payload)) {
                return true;
            }
        }
        return false;
    }

    /** Something was committed, or a learner has more. */
    void advanced() {
        for (int i = 0; i < all.size(); i++) {
            all.get(i).advanced();
        }
    }

    /** The learner's progress; null if the disk is none. */
    @Nullable PeerProgress peer(int disk) {
        Progress p = find(disk);
        return p == null ? null : p.peer;
    }

    /** Disks that commits wait for though they are not in sync. */
    List<Integer> joining() {
        return all.stream().filter(Progress::counts).map(p -> p.peer.disk).toList();
    }

    /** How many have said what they have, and are brought up to date. */
    int recovering() {
        int count = 0;
        for (int i = 0; i < all.size(); i++) {
            count += all.get(i).stage == Stage.ASKED ? 0 : 1;
        }
        return count;
    }

    @Override
    public String toString() {
        return all.stream()
                .map(p -> "disk %d %s".formatted(p.peer.disk, p.stage))
                .collect(Collectors.joining(", "));
    }

    private @Nullable Progress find(int disk) {
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).peer.disk == disk) {
                return all.get(i);
            }
        }
        return null;
    }

    // ---- from outside -------------------------------------------------------------------------

    void onHistory(int disk, long number, PgHistory history) {
        Progress p = find(disk);
        if (p != null) {
            p.begins(number, history);
        }
    }

    /** Takes over the entries' payloads. */
    void onEntries(int disk, long after, List<PgLogEntry> entries) {
        Progress p = find(disk);
        if (p == null) {
            entries.forEach(e -> e.payload().release());
        } else {
            p.onEntries(after, entries);
        }
    }

    void onOwnContent(ContentPage page) {
        List.copyOf(all).forEach(p -> p.onOwn(page));
    }

    void onPeerContent(int disk, ContentPage page) {
        Progress p = find(disk);
        if (p != null) {
            p.onTheirs(page);
        }
    }
}
