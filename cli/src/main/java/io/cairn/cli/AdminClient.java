package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.HostPort;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.proto.StatusRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.LeaderFinder;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcStatus;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

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
        LeaderFinder finder = new LeaderFinder(members.stream().map(RpcAddress::of).toList());
        StringJoiner failures = new StringJoiner("; ");
        boolean refused = true;
        while (finder.rounds() == 0) {
            InetSocketAddress member = finder.current();
            Answer answer = ask(member);
            if (answer.reply() != null) {
                return answer.reply();
            }
            var _ = finder.failed(member, answer.status()); // no pause in the one round there is
            failures.add(RpcAddress.format(member) + ": " + answer.status().detail());
            refused &= answer.status().errno() == Errno.EPROTO;
        }
        if (refused) {
            throw new CommandException(ExitCode.CONFIGURATION, failures.toString());
        }
        throw new CommandException(
                ExitCode.UNREACHABLE,
                "no MDS leader answers (" + failures + "); is the cluster up? try 'cairn up'");
    }

    private record Answer(RpcStatus status, @Nullable StatusReply reply) {}

    private Answer ask(InetSocketAddress member) {
        CompletableFuture<Answer> future = new CompletableFuture<>();
        rpc.channel(member)
                .call(
                        Method.STATUS_VALUE,
                        StatusRequest.getDefaultInstance(),
                        System.nanoTime() + PER_CALL.toNanos(),
                        Heads.reply(
                                StatusReply.parser(),
                                (status, reply) -> future.complete(new Answer(status, reply))));
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException(ExitCode.FAILURE, "interrupted");
        }
    }

    @Override
    public void close() {
        rpc.close();
        loops.close();
    }
}
