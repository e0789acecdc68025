package io.cairn.mds.lease;

import com.google.protobuf.MessageLite;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.SizesToldReply;
import io.cairn.common.proto.SizesToldRequest;
import io.cairn.common.proto.TellSizes;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.lease.Delegations.Look;
import io.cairn.mds.lease.Delegations.Question;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.StateListener;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sizes and times of files that sessions hold open to write, and publish a second after a write at
 * the latest: who asks for the attributes of one is answered when the other sessions that have it
 * open have published what they wrote before they were asked.
 *
 * <pre>
 *   question --TELL_SIZES--> writers --Grow, if there is something--> committed --SIZES_TOLD--> read anew
 * </pre>
 *
 * <p>Each question asks for itself: what was published for an earlier one may be from before a
 * write that the asking program knows of. A writer that does not answer holds a question up for
 * {@link #PATIENCE_NANOS}, and is not asked again until it is heard of.
 *
 * <p>Any thread. Questions are asked again, and refused, outside of the monitor.
 */
public final class WriterSizes implements StateListener {
    private static final Logger LOG = LoggerFactory.getLogger(WriterSizes.class);

    /** Clients take a leader for dead that is silent for longer. */
    static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** What is asked may get lost with its connection. */
    static final long ASK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** Numbers in one term. */
    private static final int NUMBER_BITS = 36;

    private static final class Parked {
        final Question question;
        int left;

        Parked(Question question, int left) {
            this.question = question;
            this.left = left;
        }
    }

    /** One session is asked for some inodes, for one question. */
    private static final class Ask {
        final long session;
        final List<Long> inodes;
        final Parked waits;
        final long startNanos;
        long toldNanos;

        Ask(long session, List<Long> inodes, Parked waits, long now) {
            this.session = session;
            this.inodes = inodes;
            this.waits = waits;
            this.startNanos = now;
            this.toldNanos = now;
        }
    }

    private final ControlReader state;
    private final LeaseHolders holders;
    private final NanoClock clock;
    private final MdsMeters metrics;

    /** All under the monitor: by number, ascending. */
    private final TreeMap<Long, Ask> asks = new TreeMap<>();

    /** Sessions that did not answer, and since when. */
    private final Map<Long, Long> silent = new HashMap<>();

    private long lastNumber;
    private boolean leading;

    public WriterSizes(
            ControlReader state, LeaseHolders holders, NanoClock clock, MdsMeters metrics) {
        this.state = state;
        this.holders = holders;
        this.clock = clock;
        this.metrics = metrics;
    }

    // ---- asked --------------------------------------------------------------

    /** Whether others than the session have it open to write. */
    public boolean isWrittenBeside(long session, Attr attr) {
        int writers = attr.getWriters();
        return writers > 1 || (writers == 1 && state.openCount(session, attr.getInode()) == 0);
    }

    /**
     * After something was read: whether other sessions are to publish first what they wrote to it;
     * then the question is asked again afterwards.
     *
     * @param asked its session is the one that asks; 0: whichever the peer is of
     */
    public boolean waits(
            @Nullable MessageLite asked,
            @Nullable MessageLite reply,
            RpcPeer peer,
            Look look,
            Question question) {
        return asked != null
                && waits(LeasedReplies.borrower(asked), told(asked, reply), peer, look, question);
    }

    /** Attributes that an answer tells; but where only what is published is asked for. */
    private static List<Attr> told(MessageLite asked, @Nullable MessageLite reply) {
        return switch (reply) {
            case GetAttrReply found
                    when !(asked instanceof GetAttrRequest r && r.getPublishedOnly()) ->
                    List.of(found.getAttr());
            case LookupReply found when found.hasAttr() -> List.of(found.getAttr());
            case ReadDirReply listed ->
                    listed.getEntriesList().stream().map(DirEntry::getAttr).toList();
            case null, default -> List.of();
        };
    }

    /** As {@link #waits(MessageLite, MessageLite, RpcPeer, Look, Question)}. */
    public boolean waits(
            long session, List<Attr> told, RpcPeer peer, Look look, Question question) {
        Map<Long, List<Long>> writers = new HashMap<>();
        List<Long> others = null;
        for (Attr attr : told) {
            long inode = attr.getInode();
            if (look.sized.contains(inode) || !isWrittenBeside(session, attr)) {
                continue;
            }
            others = others == null ? others(session, peer) : others;
            for (long other : others) {
                if (state.openCount(other, inode) > 0) {
                    writers.computeIfAbsent(other, s -> new ArrayList<>()).add(inode);
                }
            }
        }
        if (writers.isEmpty()) {
            return false;
        }
        writers.values().forEach(look.sized::addAll);
        ask(writers, question);
        return true;
    }

    /** Sessions that know what they are asked, and answer. */
    private List<Long> others(long session, RpcPeer peer) {
        List<Long> others = new ArrayList<>();
        for (SessionRecord record : state.sessions()) {
            long other = record.getSession();
            boolean same = session != 0 ? other == session : peer.equals(holders.peer(other));
            if (!same && record.getDelegates() && holders.isOpen(other) && !isSilent(other)) {
                others.add(other);
            }
        }
        return others;
    }

    private synchronized boolean isSilent(long session) {
        @Nullable Long since = silent.get(session);
        if (since != null && holders.heardNanos(session) - since > 0) {
            silent.remove(session);
            return false;
        }
        return since != null;
    }

    private void ask(Map<Long, List<Long>> writers, Question question) {
        metrics.sizesAsked(writers.size());
        long now = clock.nanos();
        Parked waits = new Parked(question, writers.size());
        Map<Long, Ask> made = new TreeMap<>();
        boolean refused;
        synchronized (this) {
            refused = !leading;
            if (!refused) {
                writers.forEach((session, inodes) ->
                        made.put(++lastNumber, new Ask(session, inodes, waits, now)));
                asks.putAll(made);
            }
        }
        if (refused) {
            question.again(); // whoever reads it finds that this member does not lead
            return;
        }
        made.forEach(this::push);
        for (Ask ask : made.values()) {
            if (!holders.isOpen(ask.session)) {
                sessionEnded(ask.session); // before it was asked; nobody says so again
            }
        }
    }

    private void push(long number, Ask ask) {
        @Nullable RpcPeer peer = holders.peer(ask.session);
        if (peer == null) {
            return; // it is asked when it is heard of
        }
        TellSizes message =
                TellSizes.newBuilder()
                        .setSession(ask.session)
                        .setNumber(number)
                        .addAllInodes(ask.inodes)
                        .build();
        try {
            peer.push(Method.TELL_SIZES_VALUE, message);
        } catch (RuntimeException | OutOfMemoryError e) {
            LOG.warn("session {} is asked later for sizes", ask.session, e);
        }
    }

    // ---- told ---------------------------------------------------------------

    /** A session has published. On an event loop. */
    public void told(RpcRequest request) {
        SizesToldRequest told = Heads.parse(SizesToldRequest.parser(), request.head());
        List<Question> free = new ArrayList<>();
        synchronized (this) {
            silent.remove(told.getSession());
            @Nullable Ask ask = asks.get(told.getNumber());
            if (ask != null && ask.session == told.getSession()) {
                over(told.getNumber(), free);
            }
        }
        request.reply(SizesToldReply.getDefaultInstance());
        free.forEach(Question::again);
    }

    private void over(long number, List<Question> free) {
        @Nullable Ask ask = asks.remove(number);
        if (ask != null && --ask.waits.left == 0) {
            free.add(ask.waits.question);
        }
    }

    /** What it has not published is lost. */
    @Override
    public void sessionRefused(long session, long mapEpoch) {
        sessionEnded(session);
    }

    @Override
    public void sessionEnded(long session) {
        List<Question> free = new ArrayList<>();
        synchronized (this) {
            silent.remove(session);
            for (Map.Entry<Long, Ask> entry : List.copyOf(asks.entrySet())) {
                if (entry.getValue().session == session) {
                    over(entry.getKey(), free);
                }
            }
        }
        free.forEach(Question::again);
    }

    // ---- duties -------------------------------------------------------------

    /**
     * On becoming leader, before any request is taken.
     *
     * @param term above those of earlier leaders, so that numbers are, too
     */
    public synchronized void begin(long term) {
        lastNumber = Math.max(lastNumber, term << NUMBER_BITS);
        leading = true;
    }

    /** This member does not lead: what waits is refused. */
    public void end(RpcStatus status) {
        Set<Question> refused = new HashSet<>();
        synchronized (this) {
            leading = false;
            asks.values().forEach(ask -> refused.add(ask.waits.question));
            asks.clear();
            silent.clear();
        }
        refused.forEach(question -> question.refuse(status));
    }

    /** Asks again, and goes on without those that do not answer. */
    public void tick() {
        long now = clock.nanos();
        List<Question> free = new ArrayList<>();
        Map<Long, Ask> again = new TreeMap<>();
        synchronized (this) {
            for (Map.Entry<Long, Ask> entry : List.copyOf(asks.entrySet())) {
                Ask ask = entry.getValue();
                if (now - ask.startNanos >= PATIENCE_NANOS) {
                    silent.putIfAbsent(ask.session, now);
                    over(entry.getKey(), free);
                } else if (now - ask.toldNanos >= ASK_AGAIN_NANOS) {
                    ask.toldNanos = now;
                    again.put(entry.getKey(), ask);
                }
            }
        }
        again.forEach(this::push);
        free.forEach(Question::again);
    }
}
