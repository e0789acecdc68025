package io.cairn.mds.raft;

import io.cairn.mds.raft.MetaLogConfig.Transport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.grpc.GrpcFactory;
import org.apache.ratis.grpc.server.GrpcLogAppender;
import org.apache.ratis.grpc.server.GrpcServicesImpl;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotResult;
import org.apache.ratis.proto.RaftProtos.RaftRpcReplyProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionRequestProto;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.rpc.RpcFactory;
import org.apache.ratis.rpc.RpcType;
import org.apache.ratis.rpc.SupportedRpcType;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerRpc;
import org.apache.ratis.server.ServerFactory;
import org.apache.ratis.server.leader.FollowerInfo;
import org.apache.ratis.server.leader.LeaderState;
import org.apache.ratis.server.leader.LogAppender;
import org.jspecify.annotations.Nullable;

/**
 * The transport between the members, which adds four things to that of Ratis. It refuses messages
 * that are not from a member ({@link RaftPort}). It makes term and vote durable before an answer
 * that rests on them is sent, and before a candidate asks for votes ({@link TermSync}): Ratis has
 * no hook between writing the vote and answering, but its transport can be replaced. It notices
 * when the leader begins to send this member a checkpoint. It pauses where a checkpoint cannot be
 * sent.
 *
 * <p>Ratis makes one by its class name, hence public, and passes on the parameters. Stateless.
 */
public final class SyncedTransport implements RpcType {
    private static final String TRANSPORT = "cairn.transport";
    private static final String WATCH = "cairn.watch";

    /** About as long as Ratis itself waits between entries that cannot be sent. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    /** Told by its id when the leader has begun to send a checkpoint: of others no more comes. */
    @FunctionalInterface
    interface Incoming {
        void attemptBegun(String id);
    }

    /**
     * What watches over the messages between the members.
     *
     * @param disconnected as {@link NettyPort} has it; the transport of gRPC tells of nobody
     */
    record Watch(
            RaftPort port,
            TermSync sync,
            VotingRight voting,
            FollowerProgress progress,
            Incoming incoming,
            Consumer<RaftPeerId> disconnected) {}

    /** What has to be given to Ratis together with this type. */
    static Parameters parameters(Transport transport, Watch watch) {
        Parameters parameters = new Parameters();
        parameters.put(TRANSPORT, transport, Transport.class);
        parameters.put(WATCH, watch, Watch.class);
        return parameters;
    }

    @Override
    public String name() {
        return SyncedTransport.class.getName();
    }

    @Override
    public RpcFactory newFactory(Parameters parameters) {
        Watch watch = parameters.getNonNull(WATCH, Watch.class);
        return switch (parameters.getNonNull(TRANSPORT, Transport.class)) {
            case NETTY -> new OverNetty(watch);
            case GRPC -> new OverGrpc(watch);
        };
    }

    private record OverNetty(Watch watch) implements ServerFactory {
        @Override
        public RaftServerRpc newRaftServerRpc(RaftServer server) {
            return asking(
                    new NettyPort(answering(server, watch), watch.port, watch.disconnected),
                    watch,
                    SyncedTransport::pause);
        }

        @Override
        public LogAppender newLogAppender(
                RaftServer.Division division, LeaderState state, FollowerInfo follower) {
            watch.progress.follow(follower);
            return LogAppender.newLogAppenderDefault(division, state, follower);
        }

        @Override
        public RpcType getRpcType() {
            return SupportedRpcType.NETTY;
        }
    }

    private static final class OverGrpc implements ServerFactory {
        private final GrpcFactory grpc;
        private final Watch watch;
        private volatile @Nullable GrpcServicesImpl services;

        OverGrpc(Watch watch) {
            Parameters parameters = new Parameters();
            GrpcConfigKeys.Server.setServicesCustomizer(
                    parameters, (builder, types) -> builder.intercept(new GrpcPort(watch.port)));
            this.grpc = new GrpcFactory(parameters);
            this.watch = watch;
        }

        @Override
        public RaftServerRpc newRaftServerRpc(RaftServer server) {
            GrpcServicesImpl made =
                    (GrpcServicesImpl) grpc.newRaftServerRpc(answering(server, watch));
            services = made;
            return asking(made, watch, SyncedTransport::pause);
        }

        /** Ratis's wants the very class of its transport, which the server does not have here. */
        @Override
        public LogAppender newLogAppender(
                RaftServer.Division division, LeaderState state, FollowerInfo follower) {
            GrpcServicesImpl made = Objects.requireNonNull(services, "no transport yet");
            return new GrpcLogAppender(division, state, follower) {
                @Override
                public GrpcServicesImpl getServerRpc() {
                    return made;
                }

                @Override
                protected long getNextIndexForInconsistency(long firstIndex, long nextIndex) {
                    FollowerProgress.lacks(getFollower(), nextIndex);
                    return super.getNextIndexForInconsistency(firstIndex, nextIndex);
                }
            };
        }

        @Override
        public RpcType getRpcType() {
            return grpc.getRpcType();
        }
    }

    /**
     * The server as the transport sees it: it takes what members send and nothing else, votes only
     * if it has the right to, and its answers are held back until they are durable.
     */
    @SuppressWarnings("FutureReturnValueIgnored") // its caller gets it, by way of the proxy
    static RaftServer answering(RaftServer server, Watch watch) {
        RaftPort port = watch.port;
        TermSync sync = watch.sync;
        Object installing = new Object();
        return wrapped(
                RaftServer.class,
                (method, arguments) -> {
                    if (arguments == null || method.getDeclaringClass().equals(Object.class)) {
                        return invoke(server, method, arguments);
                    }
                    switch (method.getName()) {
                        case "requestVote" -> {
                            var request = (RequestVoteRequestProto) arguments[0];
                            port.admit(request.getServerRequest());
                            return vote(server, method, request, watch);
                        }
                        case "appendEntries" -> {
                            admit((AppendEntriesRequestProto) arguments[0], watch);
                            return synced(
                                    (AppendEntriesReplyProto) invoke(server, method, arguments),
                                    sync);
                        }
                        case "appendEntriesAsync" -> {
                            admit((AppendEntriesRequestProto) arguments[0], watch);
                            return ((CompletableFuture<?>) invoke(server, method, arguments))
                                    .thenApply(
                                            reply -> synced((AppendEntriesReplyProto) reply, sync));
                        }
                        case "installSnapshot" -> {
                            var request = (InstallSnapshotRequestProto) arguments[0];
                            port.admit(request);
                            watch.voting.led(VotingRight.Past.ENTRIES);
                            // One at a time, as Ratis does it.
                            synchronized (installing) {
                                return install(server, method, request, sync, watch.incoming);
                            }
                        }
                        case "startLeaderElection" -> {
                            var request = (StartLeaderElectionRequestProto) arguments[0];
                            port.admit(request.getServerRequest());
                            return invoke(server, method, arguments);
                        }
                        default -> {
                            return refused(port, method);
                        }
                    }
                });
    }

    /** Requests that only clients, administrators or other uses of Ratis would send. */
    private static Object refused(RaftPort port, Method method) throws IOException {
        IOException refusal = port.stranger(method.getName());
        if (method.getReturnType().equals(CompletableFuture.class)) {
            return CompletableFuture.failedFuture(refusal);
        }
        throw refusal;
    }

    private static void admit(AppendEntriesRequestProto request, Watch watch) throws IOException {
        watch.port.admit(request);
        watch.voting.led(VotingRight.past(request));
    }

    private static Object vote(
            RaftServer server, Method method, RequestVoteRequestProto request, Watch watch)
            throws Throwable {
        if (!watch.voting.mayVote(request.hasCandidateLastEntry())) {
            return noVote(request);
        }
        var answer = (RequestVoteReplyProto) invoke(server, method, new Object[] {request});
        watch.sync.sync();
        boolean given = answer.getServerReply().getSuccess() && !request.getPreVote();
        return given && !watch.voting.voted() ? noVote(request) : answer;
    }

    /** As Ratis answers where another got the vote. */
    private static RequestVoteReplyProto noVote(RequestVoteRequestProto request) {
        RaftRpcRequestProto head = request.getServerRequest();
        return RequestVoteReplyProto.newBuilder()
                .setServerReply(
                        RaftRpcReplyProto.newBuilder()
                                .setRequestorId(head.getRequestorId())
                                .setReplyId(head.getReplyId())
                                .setRaftGroupId(head.getRaftGroupId())
                                .setCallId(head.getCallId())
                                .setSuccess(false))
                .setTerm(request.getCandidateTerm())
                .setShouldShutdown(false)
                .build();
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

    /**
     * The transport as the server sees it: who may not vote does not ask for votes, a candidate's
     * own vote is durable before it asks, and followers that lack what they acknowledged are told
     * of before the server reads their answer.
     *
     * @param pause after a part of a checkpoint that could not be sent: Ratis tries again at once,
     *     thousands of times a second where nobody listens, and logs each failure
     */
    static RaftServerRpc asking(RaftServerRpc rpc, Watch watch, Runnable pause) {
        return wrapped(
                RaftServerRpc.class,
                (method, arguments) -> {
                    if (method.getName().equals("installSnapshot")) {
                        return sent(rpc, method, arguments, pause);
                    }
                    if (method.getName().equals("requestVote") && arguments != null) {
                        watch.voting.stand(((RequestVoteRequestProto) arguments[0]).getPreVote());
                        watch.sync.sync();
                    }
                    Object answer = invoke(rpc, method, arguments);
                    if (answer instanceof AppendEntriesReplyProto reply) {
                        watch.progress.answered(reply);
                    }
                    return answer;
                });
    }

    private static void pause() {
        LockSupport.parkNanos(PAUSE_NANOS);
    }

    private static @Nullable Object sent(
            RaftServerRpc rpc, Method method, Object @Nullable [] arguments, Runnable pause)
            throws Throwable {
        try {
            return invoke(rpc, method, arguments);
        } catch (IOException | RuntimeException e) {
            pause.run();
            throw e;
        }
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
