package io.cairn.cli;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.config.HostPort;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.proto.StatusRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcStatus;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Asks servers, as an administrator. Used by one thread. */
public final class AdminClient implements AutoCloseable {
    private static final Duration PER_CALL = Duration.ofSeconds(3);

    private final RpcLoops loops = new RpcLoops(1, "admin");
    private final RpcClient rpc =
            new RpcClient(
                    loops,
                    () -> Hello.newBuilder().setRole(Role.ROLE_ADMIN).build(),
                    HelloPolicy.ACCEPT,
                    RpcOptions.DEFAULT);

    /**
     * The MDS leader's view of the cluster.
     *
     * @throws CommandException UNREACHABLE when no member answers for the group, CONFIGURATION when
     *     all are of another protocol version or cluster
     */
    public StatusReply status(List<HostPort> members) {
        Deque<HostPort> candidates = new ArrayDeque<>(members);
        Set<HostPort> asked = new HashSet<>();
        StringJoiner failures = new StringJoiner("; ");
        boolean refused = true;
        while (!candidates.isEmpty()) {
            HostPort member = candidates.poll();
            if (!asked.add(member)) {
                continue;
            }
            Answer<StatusReply> answer = call(member, StatusReply.parser());
            if (answer.status().ok()) {
                return answer.reply();
            }
            failures.add(member + ": " + answer.status().detail());
            refused &= answer.status().errno() == Errno.EPROTO;
            if (answer.status().advice() == Advice.NOT_LEADER
                    && !answer.status().detail().isEmpty()) {
                candidates.addFirst(HostPort.parse(answer.status().detail()));
            }
        }
        if (refused) {
            throw new CommandException(ExitCode.CONFIGURATION, failures.toString());
        }
        throw new CommandException(
                ExitCode.UNREACHABLE,
                "no MDS leader answers (" + failures + "); is the cluster up? try 'cairn up'");
    }

    /** A reply, or why there is none ({@code reply} is then the empty message). */
    private record Answer<M extends MessageLite>(RpcStatus status, M reply) {}

    private <M extends MessageLite> Answer<M> call(HostPort address, Parser<M> parser) {
        CompletableFuture<Answer<M>> future = new CompletableFuture<>();
        rpc.channel(address.toSocketAddress())
                .call(
                        Method.STATUS_VALUE,
                        StatusRequest.getDefaultInstance(),
                        System.nanoTime() + PER_CALL.toNanos(),
                        (status, head, payload) -> {
                            try {
                                byte[] bytes = new byte[status.ok() ? head.readableBytes() : 0];
                                head.readBytes(bytes);
                                future.complete(new Answer<>(status, parser.parseFrom(bytes)));
                            } catch (InvalidProtocolBufferException e) {
                                future.completeExceptionally(e);
                            }
                        });
        try {
            return future.get(2 * PER_CALL.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            RpcStatus status = RpcStatus.fail(Errno.EHOSTUNREACH, String.valueOf(e.getMessage()));
            return new Answer<>(status, empty(parser));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException(ExitCode.FAILURE, "interrupted");
        }
    }

    private static <M extends MessageLite> M empty(Parser<M> parser) {
        try {
            return parser.parseFrom(new byte[0]);
        } catch (InvalidProtocolBufferException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        rpc.close();
        loops.close();
    }
}
