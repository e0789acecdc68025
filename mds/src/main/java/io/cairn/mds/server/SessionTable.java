package io.cairn.mds.server;

import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.StateListener;
import io.cairn.mds.proto.SessionRecord;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The open sessions as this leader knows them: when each was last heard of, and its mutations that
 * wait for their turn. Follows the replicated state. Any thread.
 */
final class SessionTable implements StateListener {
    private final ControlReader state;
    private final NanoClock clock;
    private final Consumer<MutationCall> submit;
    private final Map<Long, ClientSession> sessions = new ConcurrentHashMap<>();

    SessionTable(ControlReader state, NanoClock clock, Consumer<MutationCall> submit) {
        this.state = state;
        this.clock = clock;
        this.submit = submit;
    }

    /** A new time in office: every session gets a full term, and its order is found anew. */
    void reset() {
        sessions.clear();
        for (SessionRecord record : state.sessions()) {
            if (!record.getRefused()) {
                put(record.getSession());
            }
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
    @Nullable ClientSession get(long session) {
        return sessions.get(session);
    }

    Collection<ClientSession> all() {
        return List.copyOf(sessions.values());
    }

    @Override
    public void sessionOpened(long session) {
        put(session);
    }

    @Override
    public void sessionRefused(long session, long mapEpoch) {
        sessions.remove(session);
    }

    @Override
    public void sessionEnded(long session) {
        sessions.remove(session);
    }

    @Override
    public void restored() {
        reset();
    }
}
