package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.FrameAttacks;
import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Prometheus;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Garbage, half frames and oversized ones thrown at every port of a running cluster: it goes on
 * working, and the logs say who was sent away and why.
 */
@Tag("part-1")
class FramesTest {
    private static final List<String> SERVERS = List.of("mds-1", "data-1", "data-2", "data-3");
    private static final Charset US = StandardCharsets.US_ASCII;

    private final long seed = TestSeed.of("FramesTest");
    private final Random random = new Random(seed);

    @Test
    void everyPortSurvivesGarbage() throws Exception {
        System.out.println("FramesTest seed " + seed);
        try (Cluster cluster = Cluster.temporary("--processes")) {
            cluster.up();
            Path file = cluster.mnt().resolve("file");
            Files.writeString(file, "before");
            Hello hello =
                    Hello.newBuilder()
                            .setRole(Role.ROLE_ADMIN)
                            .setClusterId(
                                    ByteString.copyFrom(
                                            HexFormat.of()
                                                    .parseHex(
                                                            cluster.status()
                                                                    .path("cluster_id")
                                                                    .asString())))
                            .build();
            List<Socket> halves = new ArrayList<>();
            try (ExecutorService all = Executors.newVirtualThreadPerTaskExecutor()) {
                List<Future<?>> attacks = new ArrayList<>();
                for (String part : SERVERS) {
                    String key = part.startsWith("mds") ? "address" : "listen";
                    FrameAttacks attack = new FrameAttacks(address(cluster, part, key), hello);
                    attacks.add(
                            all.submit(() -> {
                                attack.run();
                                return part;
                            }));
                }
                throwAt(address(cluster, "mds-1", "raft_address"), halves);
                for (String part : parts()) {
                    throwAt(address(cluster, part, "metrics_address"), halves);
                }
                for (Future<?> attack : attacks) {
                    attack.get();
                }
                // Half requests are still open here.
                for (String part : parts()) {
                    assertThat(Prometheus.scrape(cluster, part)).contains("cairn_rpc_connections");
                }
            } finally {
                for (Socket half : halves) {
                    half.close();
                }
            }
            Files.writeString(file, "after");
            assertThat(Files.readString(file)).isEqualTo("after");
            assertThat(cluster.status().path("health").asString()).isEqualTo("ok");
            assertThat(cluster.processes()).hasSize(parts().size());
            for (String part : SERVERS) {
                assertThat(Files.readString(cluster.state().resolve(part).resolve("log")))
                        .contains("Closing the connection of", "first message is not a Hello");
            }
            assertThat(Files.readString(cluster.state().resolve("mds-1/log")))
                    .as("what Raft says of garbage")
                    .contains("the Raft port refused");
        }
    }

    private static List<String> parts() {
        List<String> parts = new ArrayList<>(SERVERS);
        parts.add("mount");
        return parts;
    }

    /** Ports that speak something else than Cairn's RPC. */
    private void throwAt(InetSocketAddress address, List<Socket> halves) throws IOException {
        byte[] noise = new byte[50_000];
        random.nextBytes(noise);
        byte[] ones = new byte[5_000];
        Arrays.fill(ones, (byte) 0xff);
        byte[] malformed = ones.clone();
        malformed[0] = 100; // a message of 100 bytes that is none
        byte[] oversized = ("GET /metrics HTTP/1.1\r\nX: " + "y".repeat(1 << 20)).getBytes(US);
        for (byte[] bytes : List.of(noise, ones, malformed, oversized, new byte[1000])) {
            try (Socket socket = new Socket(address.getAddress(), address.getPort())) {
                socket.getOutputStream().write(bytes);
                socket.shutdownOutput();
            } catch (SocketException closed) {
                // Sent away while still sending.
            }
        }
        Socket half = new Socket(address.getAddress(), address.getPort());
        half.getOutputStream().write("GET /metr".getBytes(US));
        halves.add(half);
    }

    private static InetSocketAddress address(Cluster cluster, String part, String key)
            throws IOException {
        String config = Files.readString(cluster.state().resolve(part).resolve("config.toml"));
        Matcher m =
                Pattern.compile("^" + key + " = \"127\\.0\\.0\\.1:(\\d+)\"", Pattern.MULTILINE)
                        .matcher(config);
        assertThat(m.find()).as(part + " " + key).isTrue();
        return new InetSocketAddress(
                InetAddress.getLoopbackAddress(), Integer.parseInt(m.group(1)));
    }
}
