package io.cairn.mds.raft;

import java.net.SocketAddress;
import java.util.Set;
import org.apache.ratis.proto.grpc.RaftServerProtocolServiceGrpc;
import org.apache.ratis.thirdparty.io.grpc.Grpc;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.ServerCall;
import org.apache.ratis.thirdparty.io.grpc.ServerCallHandler;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.jspecify.annotations.Nullable;

/**
 * The Raft port over gRPC. Ratis serves members, clients and administrators there; only the calls
 * that members make are accepted, and only from members' addresses. Any thread.
 */
final class GrpcPort implements ServerInterceptor {
    private static final Set<String> OF_MEMBERS =
            Set.of(
                    RaftServerProtocolServiceGrpc.getRequestVoteMethod().getFullMethodName(),
                    RaftServerProtocolServiceGrpc.getAppendEntriesMethod().getFullMethodName(),
                    RaftServerProtocolServiceGrpc.getInstallSnapshotMethod().getFullMethodName(),
                    RaftServerProtocolServiceGrpc.getStartLeaderElectionMethod()
                            .getFullMethodName());

    private final RaftPort port;

    GrpcPort(RaftPort port) {
        this.port = port;
    }

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        @Nullable SocketAddress from = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
        String method = call.getMethodDescriptor().getFullMethodName();
        if (!port.permits(from)) {
            return refuse(call, "the Raft port is for members");
        }
        if (!OF_MEMBERS.contains(method)) {
            return refuse(call, String.valueOf(port.stranger(method).getMessage()));
        }
        return next.startCall(call, headers);
    }

    private static <Q, A> ServerCall.Listener<Q> refuse(ServerCall<Q, A> call, String why) {
        call.close(Status.PERMISSION_DENIED.withDescription(why), new Metadata());
        return new ServerCall.Listener<>() {};
    }
}
