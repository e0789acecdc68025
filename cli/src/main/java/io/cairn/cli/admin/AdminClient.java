package io.cairn.cli.admin;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.HostPort;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.proto.StatusRequest;
import io.cairn.common.rpc.Advice;
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
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** Asks the servers of a cluster, as an administrator. Used by one thread. */
public final class AdminClient implements AutoCloseable {
    private static final Duration PER_CALL = Duration.ofSeconds(3);

    private final Set<HostPort> members;
    private final String advice;
    private final RpcLoops loops = new RpcLoops(1, "admin");
    private final RpcClient rpc =
            new RpcClient(
                    loops,
                    () -> Hello.newBuilder().setRole(Role.ROLE_ADMIN).build(),
                    HelloPolicy.ACCEPT,
                    RpcOptions.DEFAULT);

    /**
     * @param members of the metadata service, at least one of them
     * @param advice for the administrator when none of them answers for the group
     */
    public AdminClient(List<HostPort> members, String advice) {
        this.members = new LinkedHashSet<>(members);
        this.advice = advice;
    }

    /** One more member, which is asked too. */
    public void learn(HostPort member) {
        members.add(member);
    }

    /**
     * The MDS leader's view of the cluster.
     *
     * @throws CommandException as {@link #ask}
     */
    public StatusReply status() {
        return ask(Method.STATUS, StatusRequest.getDefaultInstance(), StatusReply.parser());
    }

    /**
     * Asks the leader of the metadata service.
     *
     * @throws CommandException UNREACHABLE when no member answers for the group, CONFIGURATION when
     *     all are of another protocol version or cluster
     * @throws FsException what the leader refused it with
     */
    public <R extends MessageLite> R ask(Method method, MessageLite request, Parser<R> parser) {
        LeaderFinder finder = new LeaderFinder(members.stream().map(RpcAddress::of).toList());
        StringJoiner failures = new StringJoiner("; ");
        boolean refused = true;
        while (finder.rounds() == 0) {
            InetSocketAddress member = finder.current();
            Answer<R> answer = ask(member, method, request, parser);
            if (answer.reply() != null) {
                return answer.reply();
            }
            RpcStatus status = answer.status();
            if (isFinal(status)) {
                throw status.toException();
            }
            var _ = finder.failed(member, status); // no pause in the one round there is
            failures.add(RpcAddress.format(member) + ": " + status.detail());
            refused &= status.errno() == Errno.EPROTO;
        }
        if (refused) {
            throw new CommandException(ExitCode.CONFIGURATION, failures.toString());
        }
        throw new CommandException(
                ExitCode.UNREACHABLE, "no MDS leader answers (" + failures + "); " + advice);
    }

    /**
     * One question to one server.
     *
     * @throws CommandException UNREACHABLE when it does not answer, FAILURE when it refuses
     */
    public <R extends MessageLite> R callServer(
            InetSocketAddress server, Method method, MessageLite request, Parser<R> parser) {
        Answer<R> answer = ask(server, method, request, parser);
        if (answer.reply() != null) {
            return answer.reply();
        }
        throw new CommandException(
                isFinal(answer.status()) ? ExitCode.FAILURE : ExitCode.UNREACHABLE,
                RpcAddress.format(server) + ": " + answer.status().detail());
    }

    /**
     * Whether the leader has decided. A server that does not answer is told from one that answers
     * that another does not (EHOSTUNREACH, ETIMEDOUT) by the advice: the first is RETRY.
     */
    private static boolean isFinal(RpcStatus status) {
        return (status.advice() == Advice.GIVE_UP || status.advice() == Advice.FENCED)
                && status.errno() != Errno.EPROTO;
    }

    private record Answer<R>(RpcStatus status, @Nullable R reply) {}

    private <R extends MessageLite> Answer<R> ask(
            InetSocketAddress member, Method method, MessageLite request, Parser<R> parser) {
        CompletableFuture<Answer<R>> future = new CompletableFuture<>();
        rpc.channel(member)
                .call(
                        method.getNumber(),
                        request,
                        System.nanoTime() + PER_CALL.toNanos(),
                        Heads.reply(
                                parser,
                                (status, reply) -> future.complete(new Answer<>(status, reply))));
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
