package io.cairn.mds.session;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.proto.RenewSessionRequest;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Broadcast;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.cluster.DataServers;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.lease.Delegations;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.OpenSessionEntry;
import io.cairn.mds.proto.SessionRecord;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens, renews and closes client sessions, and evicts those that were not renewed in time. An
 * eviction has four steps (docs/architecture/sessions.md): the map refuses the session; every data
 * server confirms that map, or its lease ends; the session's open files are released; the map
 * forgets the session. Open files are released in slices ({@link SessionEnds}). A new leader
 * continues evictions where it finds them.
 *
 * <p>The control thread only, except for {@link #renew}.
 */
public final class ClientSessions {
    private static final Logger LOG = LoggerFactory.getLogger(ClientSessions.class);

    /** A pause of this server itself that sessions do not pay for, at least. */
    private static final long STOOD_STILL_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Clients that die together are silent one after another: they are evicted together. */
    private static final long EVICTIONS_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Missed in a row by a session that is taken for silent. */
    private static final int RENEWALS = 3;

    /** What is kept of a description: it is in the session's record, written with every batch. */
    static final int MAX_DESCRIPTION_BYTES = 1024;

    private final Leadership leadership;
    private final EntryLog entries;
    private final ControlReader state;
    private final SessionTable table;
    private final CurrentMap map;
    private final DataServers dataServers;
    private final Control control;
    private final NanoClock clock;
    private final SessionTimes times;
    private final MdsMeters metrics;
    private final SessionEnds ends;
    private final ReadOpens readOpens;
    private final Delegations delegations;
    private final AppendTurns turns;

    private long nextSession;
    private long tickedNanos;
    private long evictedNanos;

    /** How long sessions last, in nanoseconds. */
    public record SessionTimes(long renewNanos, long expiryNanos) {
        /** After which one that others wait for is evicted. */
        long silenceNanos() {
            return Math.min(
                    expiryNanos, Math.max(Delegations.SILENCE_NANOS, RENEWALS * renewNanos));
        }
    }

    public ClientSessions(
            Leadership leadership,
            EntryLog entries,
            ControlReader state,
            SessionTable table,
            ReadOpens readOpens,
            Delegations delegations,
            AppendTurns turns,
            CurrentMap map,
            DataServers dataServers,
            Control control,
            NanoClock clock,
            SessionTimes times,
            MdsMeters metrics) {
        this.leadership = leadership;
        this.entries = entries;
        this.state = state;
        this.table = table;
        this.readOpens = readOpens;
        this.delegations = delegations;
        this.turns = turns;
        this.map = map;
        this.dataServers = dataServers;
        this.control = control;
        this.clock = clock;
        this.times = times;
        this.metrics = metrics;
        this.ends = new SessionEnds(entries, state, control);
    }

    public void begin() {
        nextSession = Math.max(nextSession, state.maxSession() + 1);
        tickedNanos = clock.nanos();
        evictedNanos = tickedNanos - EVICTIONS_NANOS;
        ends.begin();
    }

    // ---- requests -----------------------------------------------------------

    public void open(RpcRequest request) {
        @Nullable RpcStatus refusal = leadership.refusalOfMutation();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        OpenSessionRequest wanted;
        try {
            wanted = Heads.parse(OpenSessionRequest.parser(), request.head());
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            return;
        }
        var _ =
                entries.submit(
                                LogEntry.newBuilder()
                                        .setOpenSession(
                                                OpenSessionEntry.newBuilder()
                                                        .setSession(nextSession++)
                                                        .setClientUuid(wanted.getClientUuid())
                                                        .setDescription(
                                                                kept(wanted.getDescriptionBytes()))
                                                        .setAddress(
                                                                RpcAddress.format(
                                                                        request.peer().address()))
                                                        .setReclaims(
                                                                wanted.getReclaims()
                                                                        && atLevel(
                                                                                Features
                                                                                        .READ_OPENS))
                                                        .setDelegates(
                                                                wanted.getDelegates()
                                                                        && atLevel(
                                                                                Features
                                                                                        .DELEGATIONS))))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (failure != null) {
                                        request.fail(leadership.unavailable(failure));
                                    } else {
                                        opened(request, wanted.getMapEpoch(), reply);
                                    }
                                },
                                control);
    }

    private boolean atLevel(int level) {
        return Features.level(state.settings()) >= level;
    }

    /** Whole characters only. */
    private static String kept(ByteString description) {
        int end = Math.min(description.size(), MAX_DESCRIPTION_BYTES);
        while (end > 0 && end < description.size() && (description.byteAt(end) & 0xc0) == 0x80) {
            end--;
        }
        return description.substring(0, end).toStringUtf8();
    }

    /**
     * @param mapEpoch of the map that the client has, of a session before; 0: it has none
     */
    private void opened(RpcRequest request, long mapEpoch, ApplyReply reply) {
        if (reply.getErrno() != 0) {
            request.fail(
                    RpcStatus.fail(
                            Errno.of(reply.getErrno()),
                            reply.getErrno() == Errno.EAGAIN.number()
                                    ? Advice.RETRY
                                    : Advice.GIVE_UP,
                            reply.getDetail()));
            return;
        }
        ClusterMap present = map.get();
        @Nullable ClientSession session = table.get(reply.getSession());
        // As its record says: it may have been opened before the group could do what is asked for.
        @Nullable SessionRecord record = state.session(reply.getSession());
        if (session == null || record == null) {
            request.fail(
                    RpcStatus.fail(
                            Errno.EAGAIN, Advice.RETRY, "the session is over before it began"));
            return;
        }
        session.renewed(clock.nanos(), request.peer());
        OpenSessionReply.Builder answer =
                OpenSessionReply.newBuilder()
                        .setSession(reply.getSession())
                        .setRenewIntervalMillis((int) (times.renewNanos / 1_000_000))
                        .setExpiryMillis((int) (times.expiryNanos / 1_000_000))
                        .setFeatureLevel(Features.level(state.settings()))
                        .setReclaims(record.getReclaims())
                        .setDelegates(record.getDelegates())
                        .setDelegationMillis((int) (times.silenceNanos() / 1_000_000))
                        .setTerm(readOpens.term());
        @Nullable List<Broadcast> missed = map.missed(mapEpoch, present);
        if (missed == null) {
            request.reply(answer.setMap(map.inAnswer(present)).build());
            map.sendRest(request.peer(), present);
        } else {
            request.reply(answer.build());
            map.send(request.peer(), missed);
        }
    }

    /** On an event loop. */
    public boolean renew(RpcRequest request) {
        ClusterMap present = map.get();
        @Nullable RpcStatus refusal = leadership.refusal();
        RenewSessionRequest wanted = Heads.parse(RenewSessionRequest.parser(), request.head());
        if (refusal == null) {
            @Nullable ClientSession session = table.get(wanted.getSession());
            if (session == null) {
                refusal = Mutations.fenced(wanted.getSession());
            } else {
                session.renewed(clock.nanos(), request.peer());
            }
        }
        if (refusal != null) {
            request.fail(refusal);
            return false;
        }
        request.reply(
                RenewSessionReply.newBuilder()
                        .setReclaim(readOpens.awaits(wanted.getSession()))
                        .setTerm(readOpens.term())
                        .build());
        map.bringUpToDate(request.peer(), wanted.getMapEpoch(), present);
        return true;
    }

    public void close(RpcRequest request) {
        @Nullable RpcStatus refusal = leadership.refusalOfMutation();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        CloseSessionRequest wanted;
        try {
            wanted = Heads.parse(CloseSessionRequest.parser(), request.head());
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
            return;
        }
        if (wanted.getEvict()) {
            LOG.warn(
                    "session {} is evicted at the wish of {} {}",
                    wanted.getSession(),
                    request.peer().hello().getRole() == Role.ROLE_ADMIN
                            ? "an administrator at"
                            : "its client at",
                    RpcAddress.format(request.peer().address()));
        }
        var _ =
                entries.submit(end(wanted))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (failure != null) {
                                        request.fail(leadership.unavailable(failure));
                                    } else if (reply.getErrno() != 0) {
                                        request.fail(Mutations.fenced(wanted.getSession()));
                                    } else {
                                        request.reply(CloseSessionReply.getDefaultInstance());
                                        ends.releaseMore(wanted.getSession());
                                    }
                                },
                                control);
    }

    /**
     * A client that cannot say that nothing of its session is in flight has it evicted: every data
     * server must refuse it before its files are released.
     */
    private static LogEntry.Builder end(CloseSessionRequest wanted) {
        long session = wanted.getSession();
        return wanted.getEvict()
                ? LogEntry.newBuilder()
                        .setEvictSession(EvictSessionEntry.newBuilder().setSession(session))
                : LogEntry.newBuilder()
                        .setCloseSession(
                                CloseSessionEntry.newBuilder()
                                        .setSession(session)
                                        .setMaxOpens(SessionEnds.OPENS_OF_A_SLICE));
    }

    // ---- duties -------------------------------------------------------------

    /**
     * Evicts sessions that were not renewed in time, releases those whose eviction every data
     * server has confirmed, and continues with those that are ending.
     */
    public void tick() {
        long now = clock.nanos();
        if (now - tickedNanos > Math.max(times.expiryNanos / 4, STOOD_STILL_NANOS)) {
            // This server itself stood still, or could not serve: nobody could renew meanwhile.
            table.all().forEach(session -> session.renewed(now));
        }
        tickedNanos = now;
        if (now - evictedNanos >= EVICTIONS_NANOS) {
            evictSilent(now);
        }
        for (SessionRecord record : state.sessions()) {
            long id = record.getSession();
            if (record.getEnding()) {
                ends.releaseMore(id);
            } else if (record.getRefused()
                    && dataServers.allBeyond(record.getRefusedEpoch())
                    && ends.release(id)) {
                LOG.info(
                        "session {}: every data server refuses it, its {} open files are released",
                        id,
                        record.getOpenFiles());
            }
        }
    }

    private void evictSilent(long now) {
        Map<Long, Long> silentNanos = new TreeMap<>();
        Set<Long> owing = delegations.silent(times.silenceNanos());
        owing.addAll(turns.silent(times.silenceNanos()));
        for (ClientSession session : table.all()) {
            long silent = now - session.renewedNanos();
            if (silent > times.expiryNanos || owing.contains(session.id())) {
                silentNanos.put(session.id(), silent);
            }
        }
        for (long id : ends.evict(List.copyOf(silentNanos.keySet()))) {
            evictedNanos = now;
            metrics.evicted();
            LOG.warn(
                    "session {} was not renewed for {} s: evicted",
                    id,
                    TimeUnit.NANOSECONDS.toSeconds(silentNanos.getOrDefault(id, 0L)));
        }
    }
}
