package io.cairn.mds.session;

import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.lease.LeaseHolders;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.StateListener;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The open sessions as this leader knows them: when each was last renewed, and which of its
 * mutations wait for earlier ones. Follows the replicated state. Any thread.
 */
public final class SessionTable implements StateListener, LeaseHolders {
    private final ControlReader state;
    private final NanoClock clock;
    private final Consumer<MutationCall> submit;
    private final Map<Long, ClientSession> sessions = new ConcurrentHashMap<>();

    SessionTable(ControlReader state, NanoClock clock, Consumer<MutationCall> submit) {
        this.state = state;
        this.clock = clock;
        this.submit = submit;
    }

    /** On becoming leader: every session gets a full term, and its order is found anew. */
    void reset() {
        for (long id : sessions.keySet()) {
            remove(id, LATER);
        }
        for (SessionRecord record : state.sessions()) {
            long id = record.getSession();
            if (isOver(record)) {
                continue;
            }
            put(id);
            // It may end meanwhile: either we see that, or we are told of it after this.
            @Nullable SessionRecord now = state.session(id);
            if (now == null || isOver(now)) {
                remove(id, Mutations.fenced(id));
            }
        }
    }

    private static boolean isOver(SessionRecord session) {
        return session.getRefused() || session.getEnding();
    }

    /** This member no longer leads: what waits is answered with this. */
    void close(RpcStatus status) {
        sessions.values().forEach(session -> close(session, status));
    }

    private static void close(ClientSession session, RpcStatus status) {
        session.order().close(call -> call.request().fail(status));
    }

    private void remove(long id, RpcStatus status) {
        @Nullable ClientSession session = sessions.remove(id);
        if (session != null) {
            close(session, status);
        }
    }

    private ClientSession put(long id) {
        return sessions.computeIfAbsent(
                id,
                s ->
                        new ClientSession(
                                s,
                                clock.nanos(),
                                submit,
                                call -> call.request().fail(LATER),
                                () -> lastExecuted(s)));
    }

    private static final RpcStatus LATER =
            RpcStatus.fail(
                    Errno.EAGAIN, Advice.RETRY, "an earlier mutation of the session is missing");

    private long lastExecuted(long session) {
        @Nullable SessionRecord record = state.session(session);
        return record == null ? 0 : record.getLastNumber();
    }

    /** Null for one that never was, is refused, or has ended. */
    public @Nullable ClientSession get(long session) {
        return sessions.get(session);
    }

    Collection<ClientSession> all() {
        return List.copyOf(sessions.values());
    }

    /** The connections of the open sessions, as far as they were heard of. */
    public List<RpcPeer> peers() {
        List<RpcPeer> peers = new ArrayList<>();
        for (ClientSession session : sessions.values()) {
            @Nullable RpcPeer peer = session.peer();
            if (peer != null) {
                peers.add(peer);
            }
        }
        return peers;
    }

    @Override
    public boolean isOpen(long session) {
        return sessions.containsKey(session);
    }

    @Override
    public boolean borrows(long session) {
        @Nullable ClientSession known = sessions.get(session);
        return known != null && known.borrows();
    }

    @Override
    public @Nullable RpcPeer peer(long session) {
        @Nullable ClientSession known = sessions.get(session);
        return known == null ? null : known.peer();
    }

    @Override
    public long heardNanos(long session) {
        @Nullable ClientSession known = sessions.get(session);
        return known == null ? clock.nanos() - Long.MAX_VALUE / 2 : known.renewedNanos();
    }

    @Override
    public void borrowing(long session, RpcPeer peer) {
        @Nullable ClientSession known = sessions.get(session);
        if (known != null && peer.connected()) {
            known.borrowing(peer);
        }
    }

    @Override
    public void sessionOpened(long session) {
        put(session);
    }

    @Override
    public void sessionRefused(long session, long mapEpoch) {
        remove(session, Mutations.fenced(session));
    }

    @Override
    public void sessionEnded(long session) {
        remove(session, Mutations.fenced(session));
    }

    @Override
    public void restored() {
        reset();
    }
}
