package io.cairn.mds.session;

import io.cairn.common.proto.ReadOpen;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.StateListener;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Which session has which file open for reading. Not durable: a new leader knows nothing until
 * every session that may have such opens has reclaimed them, or has ended. Until then each inode
 * may be open. An evicted session keeps its opens until it is released: a data server may still
 * serve it.
 *
 * <p>What a session says counts in the round that it began last, see {@code ReclaimOpensRequest}.
 * Within a round a message may still be overtaken, by one of a newer connection: so a close names
 * the open that it ends.
 *
 * <p>Any thread.
 */
public final class ReadOpens implements StateListener {
    /** What one session may have open this way; for more there are replicated opens. */
    static final int MAX_OF_A_SESSION = 1 << 20;

    /** What became of an open. */
    enum Opened {
        NEW,
        /** The session had the inode open. */
        AGAIN,
        /** It is of another round than the session's. */
        OTHER_ROUND,
        TOO_MANY
    }

    /**
     * Of a leader's term, by which no other leader takes what was meant for this one.
     *
     * @param number ascending, as the session counts
     */
    record Round(long term, long number) {}

    private static final class Session {
        long round;

        /** Parts of the round's reclaim that have come. */
        int parts;

        /** All of the round's reclaim has come. */
        boolean complete;

        /** Of the newest open, by inode. */
        final Map<Long, Long> numbers = new HashMap<>();

        /** Likewise, while the parts of a reclaim come in. */
        final Map<Long, Long> reclaimed = new HashMap<>();
    }

    private final Supplier<List<SessionRecord>> recorded;
    private final int maxOfASession;
    private volatile LongConsumer closed = inode -> {};

    /** All under the monitor. */
    private final Map<Long, Session> sessions = new HashMap<>();

    /** Sessions that have it open, by inode. */
    private final Map<Long, Integer> openers = new HashMap<>();

    /** Sessions that were there before this leader, and have not reclaimed. */
    private final Set<Long> awaited = new HashSet<>();

    private long opens;
    private long term;

    /**
     * @param recorded the sessions by the replicated state
     */
    public ReadOpens(Supplier<List<SessionRecord>> recorded) {
        this(recorded, MAX_OF_A_SESSION);
    }

    ReadOpens(Supplier<List<SessionRecord>> recorded, int maxOfASession) {
        this.recorded = recorded;
        this.maxOfASession = maxOfASession;
    }

    /**
     * @param listener told of each inode that no session has open for reading any more; not under
     *     the monitor
     */
    public void onClosed(LongConsumer listener) {
        closed = listener;
    }

    /**
     * On becoming leader, before any request is taken.
     *
     * @param leaderTerm above 0
     */
    public void begin(long leaderTerm) {
        Set<Long> before = mayHaveOpens();
        synchronized (this) {
            end();
            term = leaderTerm;
            awaited.addAll(before);
        }
        // One may end meanwhile: either we see that, or we are told of it after this.
        before.removeAll(mayHaveOpens());
        before.forEach(this::sessionEnded);
    }

    private Set<Long> mayHaveOpens() {
        Set<Long> ids = new HashSet<>();
        for (SessionRecord session : recorded.get()) {
            if (session.getReclaims() && !session.getEnding()) {
                ids.add(session.getSession());
            }
        }
        return ids;
    }

    /** This member does not lead. */
    public synchronized void end() {
        sessions.clear();
        openers.clear();
        awaited.clear();
        opens = 0;
        term = 0;
    }

    // ---- told by clients ----------------------------------------------------

    synchronized Opened open(long session, Round round, long inode, long number) {
        @Nullable Session of = inRound(session, round);
        if (of == null) {
            return Opened.OTHER_ROUND;
        }
        if (of.numbers.size() >= maxOfASession && !of.numbers.containsKey(inode)) {
            return Opened.TOO_MANY;
        }
        return put(of, inode, number) ? Opened.NEW : Opened.AGAIN;
    }

    /**
     * The same for a look-up, of which nobody hears where the session has the file open already:
     * that stays as it is.
     *
     * @return whether it is open by this
     */
    synchronized boolean openFound(long session, Round round, long inode, long number) {
        @Nullable Session of = inRound(session, round);
        return of != null
                && !of.numbers.containsKey(inode)
                && of.numbers.size() < maxOfASession
                && put(of, inode, number);
    }

    /**
     * Those that were opened again since stay open.
     *
     * @return false for one of another round, which changes nothing
     */
    boolean close(long session, Round round, List<ReadOpen> ended) {
        List<Long> unused = new ArrayList<>();
        synchronized (this) {
            @Nullable Session of = inRound(session, round);
            if (of == null) {
                return false;
            }
            for (ReadOpen open : ended) {
                @Nullable Long newest = of.numbers.get(open.getInode());
                if (newest != null && newest <= open.getNumber()) {
                    of.numbers.remove(open.getInode());
                    fewer(open.getInode(), unused);
                }
            }
        }
        unused.forEach(closed::accept);
        return true;
    }

    /**
     * Begins a round, or goes on with it: what is not named is closed.
     *
     * @return false for one of an earlier round or another term, and for one that does not follow
     *     the part before it: none of them changes anything
     */
    boolean reclaim(long session, Round round, List<ReadOpen> held, int part, boolean last) {
        List<Long> unused = new ArrayList<>();
        synchronized (this) {
            if (round.term != term) {
                return false;
            }
            Session of = sessions.computeIfAbsent(session, s -> new Session());
            boolean follows = round.number == of.round && !of.complete && part == of.parts;
            if (part == 0 ? round.number <= of.round : !follows) {
                return false;
            }
            if (part == 0) {
                of.round = round.number;
                of.complete = false;
                of.reclaimed.clear();
            }
            of.parts = part + 1;
            for (ReadOpen open : held) {
                of.reclaimed.put(open.getInode(), open.getNumber());
                var _ = put(of, open.getInode(), open.getNumber());
            }
            if (last) {
                of.complete = true;
                awaited.remove(session);
                keepReclaimed(of, unused);
            }
        }
        unused.forEach(closed::accept);
        return true;
    }

    /** Not before all parts have come: until then what was open may yet be named. */
    private void keepReclaimed(Session of, List<Long> unused) {
        List<Long> others = new ArrayList<>(of.numbers.keySet());
        others.removeAll(of.reclaimed.keySet());
        others.forEach(inode -> fewer(inode, unused));
        of.numbers.clear();
        of.numbers.putAll(of.reclaimed);
        of.reclaimed.clear();
    }

    private @Nullable Session inRound(long session, Round round) {
        @Nullable Session of = sessions.get(session);
        boolean newest = of != null && of.complete && of.round == round.number;
        return newest && round.term == term ? of : null;
    }

    private boolean put(Session of, long inode, long number) {
        @Nullable Long before = of.numbers.get(inode);
        if (before != null) {
            of.numbers.put(inode, Math.max(before, number));
            return false;
        }
        of.numbers.put(inode, number);
        openers.merge(inode, 1, Integer::sum);
        opens++;
        return true;
    }

    private void fewer(long inode, List<Long> unused) {
        opens--;
        if (openers.merge(inode, -1, Integer::sum) == 0) {
            openers.remove(inode);
            unused.add(inode);
        }
    }

    // ---- told by the state --------------------------------------------------

    @Override
    public void sessionEnded(long session) {
        List<Long> unused = new ArrayList<>();
        synchronized (this) {
            awaited.remove(session);
            @Nullable Session ended = sessions.remove(session);
            if (ended != null) {
                ended.numbers.keySet().forEach(inode -> fewer(inode, unused));
            }
        }
        unused.forEach(closed::accept);
    }

    // ---- asked --------------------------------------------------------------

    /** Whether what is open is known: every session has reclaimed since this member leads. */
    public synchronized boolean isComplete() {
        return awaited.isEmpty();
    }

    /** In which this member leads; 0: it does not. */
    public synchronized long term() {
        return term;
    }

    /** Whether the session has yet to reclaim. */
    public synchronized boolean awaits(long session) {
        return awaited.contains(session);
    }

    /** Whether some session has it open for reading, or may have. */
    public synchronized boolean mayBeOpen(long inode) {
        return !awaited.isEmpty() || openers.containsKey(inode);
    }

    /** Whether a session other than this one has it open for reading, or may have. */
    synchronized boolean mayBeOpenBeside(long session, long inode) {
        if (!awaited.isEmpty()) {
            return true;
        }
        int mine = isOpen(session, inode) ? 1 : 0;
        return openers.getOrDefault(inode, 0) > mine;
    }

    synchronized boolean isOpen(long session, long inode) {
        @Nullable Session of = sessions.get(session);
        return of != null && of.numbers.containsKey(inode);
    }

    /** Inodes that the session has open for reading. */
    public synchronized int count(long session) {
        @Nullable Session of = sessions.get(session);
        return of == null ? 0 : of.numbers.size();
    }

    /** The same, over all sessions. */
    public synchronized long count() {
        return opens;
    }

    /** Sessions that have yet to reclaim. */
    public synchronized int awaited() {
        return awaited.size();
    }
}
