package io.cairn.mds.raft;

import io.cairn.mds.raft.MetaLogConfig.Transport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.grpc.GrpcFactory;
import org.apache.ratis.netty.NettyFactory;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotResult;
import org.apache.ratis.rpc.RpcFactory;
import org.apache.ratis.rpc.RpcType;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerRpc;
import org.apache.ratis.server.ServerFactory;
import org.apache.ratis.server.leader.FollowerInfo;
import org.apache.ratis.server.leader.LeaderState;
import org.apache.ratis.server.leader.LogAppender;
import org.jspecify.annotations.Nullable;

/**
 * Ratis's own transport with {@link TermSync} in front of it: no answer leaves this member before
 * the term and the vote it rests on are durable, and no candidate asks for votes before its own is.
 * Ratis has no hook between writing the vote and answering; its transport is what can be replaced.
 * It is also where a member learns that the leader has begun to send it a checkpoint.
 *
 * <p>Ratis makes one by its class name, hence public, and passes on the parameters. Stateless.
 */
public final class SyncedTransport implements RpcType {
    private static final String TRANSPORT = "cairn.transport";
    private static final String TERM_SYNC = "cairn.term.sync";
    private static final String INCOMING = "cairn.incoming";

    /** Told by its id when the leader has begun to send a checkpoint: of others no more comes. */
    @FunctionalInterface
    interface Incoming {
        void attemptBegun(String id);
    }

    /** What has to be given to Ratis together with this type. */
    static Parameters parameters(Transport transport, TermSync sync, Incoming incoming) {
        Parameters parameters = new Parameters();
        parameters.put(INCOMING, incoming, Incoming.class);
        parameters.put(TRANSPORT, transport, Transport.class);
        parameters.put(TERM_SYNC, sync, TermSync.class);
        return parameters;
    }

    @Override
    public String name() {
        return SyncedTransport.class.getName();
    }

    @Override
    public RpcFactory newFactory(Parameters parameters) {
        TermSync sync = parameters.getNonNull(TERM_SYNC, TermSync.class);
        Incoming incoming = parameters.getNonNull(INCOMING, Incoming.class);
        return switch (parameters.getNonNull(TRANSPORT, Transport.class)) {
            case NETTY -> new Factory(new NettyFactory(parameters), sync, incoming, true);
            // Its log appender needs the very class of the transport, so that what a candidate
            // sends is not seen here; its vote for itself is durable with its first log entry.
            case GRPC -> new Factory(new GrpcFactory(parameters), sync, incoming, false);
        };
    }

    private record Factory(
            ServerFactory transport, TermSync sync, Incoming incoming, boolean outgoing)
            implements ServerFactory {
        @Override
        public RaftServerRpc newRaftServerRpc(RaftServer server) {
            RaftServerRpc rpc = transport.newRaftServerRpc(answering(server, sync, incoming));
            return outgoing ? asking(rpc, sync) : rpc;
        }

        @Override
        public LogAppender newLogAppender(
                RaftServer.Division division, LeaderState state, FollowerInfo follower) {
            return transport.newLogAppender(division, state, follower);
        }

        @Override
        public RpcType getRpcType() {
            return transport.getRpcType();
        }
    }

    /** The server as the transport sees it: answers are held back until they are durable. */
    @SuppressWarnings("FutureReturnValueIgnored") // its caller gets it, by way of the proxy
    static RaftServer answering(RaftServer server, TermSync sync, Incoming incoming) {
        Object installing = new Object();
        return wrapped(
                RaftServer.class,
                (method, arguments) -> {
                    if (arguments != null
                            && arguments.length == 1
                            && arguments[0] instanceof InstallSnapshotRequestProto request) {
                        // One at a time, as Ratis does it.
                        synchronized (installing) {
                            return install(server, method, request, sync, incoming);
                        }
                    }
                    Object answer = invoke(server, method, arguments);
                    switch (method.getName()) {
                        case "requestVote" -> sync.sync();
                        case "appendEntries" ->
                                sync.syncTerm(((AppendEntriesReplyProto) answer).getTerm());
                        case "appendEntriesAsync" -> {
                            return ((CompletableFuture<?>) answer)
                                    .thenApply(
                                            reply -> synced((AppendEntriesReplyProto) reply, sync));
                        }
                        default -> {}
                    }
                    return answer;
                });
    }

    private static Object install(
            RaftServer server,
            Method method,
            InstallSnapshotRequestProto request,
            TermSync sync,
            Incoming incoming)
            throws Throwable {
        var answer = (InstallSnapshotReplyProto) invoke(server, method, new Object[] {request});
        if (answer.getResult() == InstallSnapshotResult.SUCCESS
                && request.getSnapshotChunk().getRequestIndex() == 0) {
            incoming.attemptBegun(request.getSnapshotChunk().getRequestId());
        }
        sync.syncTerm(answer.getTerm());
        return answer;
    }

    /** The transport as the server sees it: a candidate's own vote is durable before it asks. */
    static RaftServerRpc asking(RaftServerRpc rpc, TermSync sync) {
        return wrapped(
                RaftServerRpc.class,
                (method, arguments) -> {
                    if (method.getName().equals("requestVote")) {
                        sync.sync();
                    }
                    return invoke(rpc, method, arguments);
                });
    }

    private static AppendEntriesReplyProto synced(AppendEntriesReplyProto reply, TermSync sync) {
        try {
            sync.syncTerm(reply.getTerm());
            return reply;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Calls {
        @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable;
    }

    private static <T> T wrapped(Class<T> type, Calls calls) {
        return type.cast(
                Proxy.newProxyInstance(
                        SyncedTransport.class.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) -> calls.call(method, arguments)));
    }

    private static Object invoke(Object target, Method method, Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }
}
