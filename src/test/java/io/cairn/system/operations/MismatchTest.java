package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcServer;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What does not belong together says so in one line and does not run. */
@Tag("part-5")
class MismatchTest {
    private static final int CONFIGURATION = 3;

    @TempDir private Path temporary;

    @Test
    void aMetadataServerOfAnotherProtocolVersion() throws IOException {
        Hello future =
                Hello.newBuilder()
                        .setRole(Role.ROLE_MDS)
                        .setClusterId(ByteString.copyFrom(new byte[16]))
                        .setMinVersion(90)
                        .setMaxVersion(99)
                        .build();
        Path mnt = Files.createDirectory(temporary.resolve("mnt"));
        try (RpcLoops loops = new RpcLoops(1, "future");
                RpcServer server =
                        RpcServer.bind(
                                loops,
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                                () -> future,
                                (hello, address) -> null,
                                request -> {
                                    throw new AssertionError("no request gets through");
                                },
                                RpcOptions.DEFAULT)) {
            String address = RpcAddress.format(server.localAddress());
            for (List<String> command :
                    List.of(
                            List.of("mount", address, mnt.toString()),
                            List.of("status", "--mds", address))) {
                Shell.Result result = Cluster.cairn(command);
                result.saysOneLine(CONFIGURATION, "protocol version", address);
            }
        }
    }

    @Test
    void partsOfAnotherCluster() throws IOException {
        try (Cluster one = Cluster.temporary("--processes");
                Cluster two = Cluster.temporary()) {
            one.up();
            one.down();
            two.up();
            String foreign = two.mds();

            Path part = one.state().resolve("data-1");
            String config = Files.readString(part.resolve("config.toml"));
            Path elsewhere =
                    Files.writeString(
                            part.resolve("elsewhere.toml"),
                            config.replaceFirst("(?m)^listen = .*$", "")
                                    .replaceFirst("(?m)^metrics_address = .*$", "")
                                    .replaceFirst("(?m)^mds = .*$", "mds = [\"" + foreign + "\"]"));
            Shell.Result server = Cluster.cairn("dataserver", "--config", elsewhere.toString());
            server.saysOneLine(CONFIGURATION, "cluster");
            assertThat(server.err()).contains(part.resolve("state").toString());

            Path stranger =
                    Files.writeString(
                            temporary.resolve("mount.toml"),
                            "[client]\nmds = [\"%s\"]\ncluster_id = \"%s\"\n"
                                    .formatted(foreign, "0123456789abcdef".repeat(2)));
            Path mnt = Files.createDirectory(temporary.resolve("other"));
            Shell.Result mount =
                    Cluster.cairn(
                            "mount", foreign, mnt.toString(), "--config", stranger.toString());
            mount.saysOneLine(CONFIGURATION, "cluster id differs", "0123456789abcdef");
        }
    }
}
