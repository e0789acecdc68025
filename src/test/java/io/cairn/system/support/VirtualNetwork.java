package io.cairn.system.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/**
 * Hosts on one Ethernet: network namespaces, each of which is joined by a pair of devices to a
 * bridge in the namespace of this process, which reaches all of them. Links between two hosts can
 * be cut, in one direction too: then packets vanish, as in a switch that is broken, and nobody is
 * told. Everything is gone when it is closed, or this process ends. One thread.
 */
public final class VirtualNetwork implements AutoCloseable {
    private static final String BRIDGE = "cairn-net";
    private static final String SUBNET = "10.77.0.";
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** Holds a namespace open. */
    private record Host(int number, Process holder) {
        String address() {
            return SUBNET + number;
        }
    }

    private final Map<String, Host> hosts = new LinkedHashMap<>();

    private VirtualNetwork() {}

    /** What became of an attempt: a network, or the reason why there is none. */
    public record Attempt(@Nullable VirtualNetwork network, String reason) {}

    /** Makes one if that is possible here; else says why not. */
    public static Attempt make() {
        if (System.getenv("DOCKER_HOST") == null) { // set by src/test/isolated/bin/java
            return new Attempt(null, "system tests do not run in a network of their own");
        }
        Shell.Result made =
                Shell.bash(
                        """
                        set -e
                        ip link add %1$s type bridge
                        ip addr add %2$s254/24 dev %1$s
                        ip link set %1$s up
                        unshare -n iptables -w -A INPUT -s %2$s254 -j DROP
                        """
                                .formatted(BRIDGE, SUBNET));
        return made.exitCode() == 0
                ? new Attempt(new VirtualNetwork(), "")
                : new Attempt(
                        null,
                        "no virtual network: "
                                + made.err().lines().reduce("nothing was said", (_, last) -> last));
    }

    /** Makes a host. */
    public void add(String name) {
        int number = hosts.size() + 1;
        try {
            Process holder = new ProcessBuilder("unshare", "-n", "cat").start();
            Host host = new Host(number, holder);
            hosts.put(name, host);
            Path own = Files.readSymbolicLink(Path.of("/proc/self/ns/net"));
            Path others = Path.of("/proc/" + holder.pid() + "/ns/net");
            Awaitility.await("a namespace of its own")
                    .atMost(LIMIT)
                    .pollInterval(Duration.ofMillis(5))
                    .until(() -> !Files.readSymbolicLink(others).equals(own));
            Shell.bash(
                            """
                            set -e
                            ip link add cairn-%1$d type veth peer name eth0 netns %2$d
                            ip link set cairn-%1$d master %3$s up
                            nsenter -t %2$d -n ip link set lo up
                            nsenter -t %2$d -n ip addr add %4$s/24 dev eth0
                            nsenter -t %2$d -n ip link set eth0 up
                            """
                                    .formatted(number, holder.pid(), BRIDGE, host.address()))
                    .ok();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The host's IPv4 address. */
    public String address(String host) {
        return host(host).address();
    }

    /** What a command that is to run on a host begins with; it keeps its process id. */
    List<String> inside(String host) {
        if (!hosts.containsKey(host)) {
            add(host);
        }
        return List.of("nsenter", "-t", "" + host(host).holder().pid(), "-n");
    }

    /** From now on nothing that one host sends reaches the other. */
    public void cut(String from, String to) {
        iptables(to, "-A", "INPUT", "-s", address(from), "-j", "DROP");
    }

    /** All links are whole again. */
    public void heal() {
        hosts.keySet().forEach(host -> iptables(host, "-F", "INPUT"));
    }

    private void iptables(String host, String... arguments) {
        List<String> command = new ArrayList<>(inside(host));
        command.addAll(List.of("iptables", "-w"));
        command.addAll(List.of(arguments));
        Shell.run(command).ok();
    }

    private Host host(String name) {
        return Objects.requireNonNull(hosts.get(name), name);
    }

    @Override
    public void close() {
        hosts.values().forEach(host -> host.holder().destroyForcibly());
        Shell.run("ip", "link", "del", BRIDGE).ok();
    }
}
