package io.cairn.dataserver.mdslink;

import com.google.protobuf.ByteString;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.StatusRequest;
import io.cairn.common.rpc.LeaderFinder;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.IdentityDirectory;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import java.net.InetSocketAddress;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out, once in a server's life, which cluster it joins: disks are formatted for a cluster, so
 * this comes before they can be reported to it. Every MDS member says the cluster's id in its
 * handshake.
 */
public final class ClusterIdentity {
    private static final Logger LOG = LoggerFactory.getLogger(ClusterIdentity.class);

    private static final long ATTEMPT_NANOS = 2_000_000_000L;

    private ClusterIdentity() {}

    /**
     * Blocks until a member answers, at most {@code join_timeout}.
     *
     * @throws DataServerException when none does
     */
    public static UUID find(DataServerConfig config, IdentityDirectory state)
            throws DataServerException {
        if (state.clusterId().isEmpty()) {
            join(state, ask(config));
        }
        return Uuids.of(state.clusterId());
    }

    /** Throws DataServerException if the directory belongs to another cluster. */
    public static void join(IdentityDirectory state, ByteString cluster)
            throws DataServerException {
        try {
            state.joined(cluster);
        } catch (DiskOpenException e) {
            throw new DataServerException(String.valueOf(e.getMessage()), e);
        }
    }

    private static ByteString ask(DataServerConfig config) throws DataServerException {
        CompletableFuture<ByteString> answer = new CompletableFuture<>();
        Hello hello = Hello.newBuilder().setRole(Role.ROLE_DATA_SERVER).build();
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        try (RpcLoops loops = new RpcLoops(1, "cairn-join");
                RpcClient client =
                        new RpcClient(
                                loops,
                                () -> hello,
                                (peer, address) -> {
                                    if (peer.getClusterId().size() == Uuids.BYTES) {
                                        answer.complete(peer.getClusterId());
                                    }
                                    return null;
                                },
                                RpcOptions.DEFAULT)) {
            LOG.info("Asking the metadata service at {} for the cluster's id", config.mds());
            LeaderFinder members =
                    new LeaderFinder(config.mds().stream().map(RpcAddress::of).toList());
            while (System.nanoTime() - deadline < 0) {
                InetSocketAddress member = members.current();
                CompletableFuture<RpcStatus> asked = ask(client.channel(member));
                var _ = CompletableFuture.anyOf(answer, asked).get();
                long pause = answer.isDone() ? 0 : members.failed(member, asked.get());
                try {
                    return answer.get(pause, TimeUnit.NANOSECONDS);
                } catch (TimeoutException e) {
                    LOG.debug("No member answered yet: {}", members.lastFailure());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
        String why =
                "no metadata server answers at " + config.mds() + ": start it, or correct 'mds'";
        throw new DataServerException(why, new TimeoutException(why));
    }

    /** Any call will do: the handshake comes before it. */
    private static CompletableFuture<RpcStatus> ask(RpcChannel member) {
        CompletableFuture<RpcStatus> asked = new CompletableFuture<>();
        member.call(
                Method.STATUS_VALUE,
                StatusRequest.getDefaultInstance(),
                System.nanoTime() + ATTEMPT_NANOS,
                (status, head, payload) -> asked.complete(status));
        return asked;
    }
}
