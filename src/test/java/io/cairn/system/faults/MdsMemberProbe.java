package io.cairn.system.faults;

import com.google.protobuf.ByteString;
import io.cairn.client.api.CairnClient;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.system.support.Cluster;
import java.time.Duration;
import java.util.HexFormat;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** Asks one metadata server, whether it leads or not, and follows nobody else. Any thread. */
final class MdsMemberProbe implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final RpcLoops loops = new RpcLoops(1, "probe");
    private final RpcClient client;
    private final RpcChannel channel;

    /**
     * @param member id of the metadata server
     */
    MdsMemberProbe(Cluster cluster, int member) {
        var status = cluster.status();
        byte[] id = HexFormat.of().parseHex(status.path("cluster_id").asString());
        Hello hello =
                Hello.newBuilder()
                        .setRole(Role.ROLE_CLIENT)
                        .setClusterId(ByteString.copyFrom(id))
                        .build();
        client = new RpcClient(loops, () -> hello, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
        String address =
                status.path("mds")
                        .valueStream()
                        .filter(m -> m.path("id").asInt() == member)
                        .map(m -> m.path("address").asString())
                        .findFirst()
                        .orElseThrow();
        channel = client.channel(RpcAddress.parse(address));
    }

    /**
     * Size of a file in the root directory, empty if the server says that it may not answer: it
     * does not lead, or has no lease.
     */
    CompletableFuture<OptionalLong> sizeOf(String name) {
        CompletableFuture<OptionalLong> size = new CompletableFuture<>();
        channel.call(
                Method.LOOKUP_VALUE,
                LookupRequest.newBuilder()
                        .setParent(CairnClient.ROOT_INODE)
                        .setName(ByteString.copyFromUtf8(name))
                        .build(),
                System.nanoTime() + PATIENCE.toNanos(),
                (status, head, payload) -> {
                    if (status.ok()) {
                        var attr = Heads.parse(LookupReply.parser(), head).getAttr();
                        size.complete(OptionalLong.of(attr.getSize()));
                    } else if (status.errno() == Errno.EAGAIN) {
                        size.complete(OptionalLong.empty());
                    } else {
                        size.completeExceptionally(status.toException());
                    }
                });
        return size;
    }

    @Override
    public void close() {
        client.close();
        loops.close();
    }
}
