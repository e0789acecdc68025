package io.cairn.mds.raft;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether this member may vote. A member that lost its directory has forgotten what it acknowledged
 * and whom it voted for. With its vote a member could be elected that lacks committed entries,
 * which only this member and the old leader had.
 *
 * <pre>
 *            has voted, asks for votes, or is sent the first entry of all
 *   NEW ─────────────────────────────────────────▶ VOTING
 *    │                                            ▲
 *    │ somebody else had entries before           │ has applied all that the leader had,
 *    │                                            │ or was never in this group
 *    ▼                                            │
 *   JOINING ──────────────────────────────────────┘
 * </pre>
 *
 * <p>NEW: a member of a new cluster. Its log is empty, and it votes for members whose log is empty
 * too. If another member has committed entries, or entries of an earlier leader, this member was
 * not there when they were made, or is not new at all. Then it joins.
 *
 * <p>JOINING: a member that gives no vote and no lease, and does not stand for election. It does
 * receive and acknowledge entries: from now on it keeps what it acknowledges. It votes once it has
 * applied the log up to an index that the leader names: the end of the leader's log, after a
 * majority without this member has confirmed that the leader still leads. Everything that this
 * member had acknowledged before is in the leader's log by then.
 *
 * <p>A member that is added to a group begins as JOINING too, but has forgotten nothing that
 * counts: the leader sees that the group does not have it yet, and says so.
 *
 * <p>A change of state is durable before the member acts on it. Any thread.
 */
final class VotingRight {
    private static final Logger LOG = LoggerFactory.getLogger(VotingRight.class);

    enum State {
        NEW,
        JOINING,
        VOTING
    }

    /** Keeps the state so that a restart finds it. */
    @FunctionalInterface
    interface Record {
        void write(State state) throws IOException;
    }

    private final Record record;
    private final TermSync.Failure failure;

    /** Tells this attempt to join from those of earlier processes; not 0. */
    private final long attempt = ThreadLocalRandom.current().nextLong() | 1;

    private volatile State state;
    private volatile long refused;
    private @Nullable Target target;

    private record Target(long term, long index) {}

    /**
     * @param failure told when the record cannot be written: the process must stop
     */
    VotingRight(State state, Record record, TermSync.Failure failure) {
        this.state = state;
        this.record = record;
        this.failure = failure;
    }

    State state() {
        return state;
    }

    /** How often a vote was refused because this member is joining. */
    long refused() {
        return refused;
    }

    /** The number of this attempt to join, 0 if this member is not joining. */
    long attempt() {
        return state == State.JOINING ? attempt : 0;
    }

    /**
     * Before this member asks for votes, and with that votes for itself.
     *
     * @throws IOException if it may not
     */
    void stand(boolean preVote) throws IOException {
        if (state == State.VOTING) {
            return;
        }
        synchronized (this) {
            if (state == State.JOINING) {
                throw new IOException("a member that is joining stands for no election");
            }
            if (state == State.NEW && !preVote) {
                become(State.VOTING);
            }
        }
    }

    /** Whether a request for a vote is to be looked at at all. */
    boolean mayVote(boolean candidateHasEntries) throws IOException {
        if (state == State.VOTING) {
            return true;
        }
        synchronized (this) {
            if (state == State.NEW && candidateHasEntries) {
                become(State.JOINING);
            }
            if (state == State.JOINING) {
                refused++;
                return false;
            }
            return true;
        }
    }

    /** Before a vote that was given is answered; false if it must not be. */
    boolean voted() throws IOException {
        if (state == State.VOTING) {
            return true;
        }
        synchronized (this) {
            if (state == State.NEW) {
                become(State.VOTING);
            }
            return state == State.VOTING;
        }
    }

    /** What a leader's message says of the time before it. */
    enum Past {
        /** Nothing. */
        UNTOLD,

        /** The log's first entry is this leader's, and none is committed. */
        NONE,

        /** There are entries that this member cannot know of. */
        ENTRIES
    }

    /** Before what a leader sends is taken. */
    void led(Past past) throws IOException {
        if (state != State.NEW || past == Past.UNTOLD) {
            return;
        }
        synchronized (this) {
            if (state == State.NEW) {
                become(past == Past.NONE ? State.VOTING : State.JOINING);
            }
        }
    }

    /** What entries, or a heartbeat, say. */
    static Past past(AppendEntriesRequestProto request) {
        if (request.hasPreviousLog() || request.getLeaderCommit() >= 0) {
            return Past.ENTRIES;
        }
        if (request.getEntriesCount() == 0) {
            return Past.UNTOLD;
        }
        LogEntryProto first = request.getEntries(0);
        boolean firstOfAll = first.getIndex() == 0 && first.getTerm() == request.getLeaderTerm();
        return firstOfAll ? Past.NONE : Past.ENTRIES;
    }

    /**
     * The leader says what this member has to have before it votes. The first such index of a term
     * counts: later ones only run ahead of what is applied.
     */
    synchronized void joinUpTo(long forAttempt, long term, long index) {
        if (forAttempt == attempt() && forAttempt != 0 && (target == null || target.term < term)) {
            target = new Target(term, index);
            LOG.info("votes again once entry {} is applied", index);
        }
    }

    /**
     * The leader says that no configuration of the group names this member: nothing that it may
     * have forgotten counts. It votes once it is in one.
     */
    synchronized void newcomer(long forAttempt) throws IOException {
        if (forAttempt == attempt() && forAttempt != 0) {
            become(State.VOTING);
            LOG.info("is new in the group: votes once the group has it");
        }
    }

    /** This member has applied so much; true if it votes from now on, and did not before. */
    synchronized boolean applied(long index) throws IOException {
        if (state != State.JOINING || target == null || index < target.index) {
            return false;
        }
        become(State.VOTING);
        LOG.info("has caught up with the group: votes from now on");
        return true;
    }

    private void become(State next) throws IOException {
        try {
            record.write(next);
        } catch (ClosedByInterruptException e) {
            // Ratis interrupts an election that is over: nothing is sent, and no disk has failed.
            throw e;
        } catch (IOException | RuntimeException e) {
            failure.failed("the file of this member's identity could not be written", e);
            throw e;
        }
        if (next == State.JOINING) {
            LOG.info("the group has entries that this member lacks: joins it, without a vote");
        }
        state = next;
    }
}
