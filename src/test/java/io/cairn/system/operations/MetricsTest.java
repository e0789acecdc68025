package io.cairn.system.operations;

import static java.util.Locale.ROOT;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Prometheus;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.management.Attribute;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Each operation's count and latency in JMX, in Prometheus and by {@code cairn stats}. */
@Tag("part-3")
@ExtendWith(SharedCluster.class)
class MetricsTest {
    private static final String COUNT = "count";
    private static final String[] STATISTICS = {COUNT, "0.5", "0.99", "0.999", "1"};

    /** Attributes of a timer's bean, and the quantiles that they are. */
    private static final Map<String, String> LATENCIES =
            Map.of(
                    "P50Micros",
                    "0.5",
                    "P99Micros",
                    "0.99",
                    "P999Micros",
                    "0.999",
                    "MaxMicros",
                    "1");

    /** {@code name_latency_seconds{tags} value} and {@code name_total{tags} value}. */
    private static final Pattern SAMPLE =
            Pattern.compile("(?m)^cairn_(\\w+)_(latency_seconds|total)\\{([^}]*)} (\\S+)$");

    private static final Pattern TAG = Pattern.compile("(\\w+)=\"([^\"]*)\"");

    private final Cluster shared;

    MetricsTest(Cluster shared) {
        this.shared = shared;
    }

    /**
     * The part of a placement group that a server has is chance: data-1 is the primary of what is
     * written or a backup, and shows either.
     */
    @Test
    void statsShowWhatAMountAndADataServerDo() throws IOException {
        Path work = shared.work("stats");
        String writing = "while :; do dd if=/dev/zero of='%s/f' bs=64k count=8 conv=fsync; done";
        Process load =
                new ProcessBuilder("bash", "-c", writing.formatted(work))
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start();
        try {
            String mount = shared.mnt().toString();
            awaitStats(mount, "mount", "client_operation write", "mount_operation write");
            awaitStats(mount, "mount", "client_written");
            awaitStats("data-1", "data-1", "dataserver_operation write", "dataserver_backup");
            awaitStats("data-1", "data-1", "dataserver_written");
        } finally {
            load.descendants().forEach(ProcessHandle::destroyForcibly);
            Cluster.kill9(List.of(load.toHandle()));
        }
        Cluster.cairn("stats", "nonsense", "--dir", shared.state().toString())
                .saysOneLine(2, "nonsense", "data-1", shared.mnt().toString());
        Cluster.cairn("stats", "127.0.0.1:1").saysOneLine(4, "127.0.0.1:1");
    }

    /** Until one of these operations or bytes shows a rate; nothing of another part is shown. */
    private void awaitStats(String target, String part, String... names) {
        Awaitility.await(String.join(" or ", names))
                .atMost(Duration.ofMinutes(2))
                .untilAsserted(() -> {
                    Shell.Result result =
                            Cluster.cairn(
                                    "stats",
                                    target,
                                    "2",
                                    "1",
                                    "--json",
                                    "--dir",
                                    shared.state().toString());
                    JsonNode document = JsonMapper.shared().readTree(result.ok().out());
                    List<JsonNode> shown = new ArrayList<>();
                    document.path("operations").forEach(shown::add);
                    document.path("bytes").forEach(shown::add);
                    assertThat(shown)
                            .as(result.out())
                            .allMatch(o -> o.path("part").asString().equals(part))
                            .anyMatch(o ->
                                    Arrays.stream(names).anyMatch(name(o)::startsWith)
                                            && o.path("per_second").asDouble()
                                                            + o.path("bytes_per_second").asDouble()
                                                    > 0);
                });
    }

    private static String name(JsonNode rate) {
        return rate.path("meter").asString() + " " + rate.path("tags").path("op").asString("");
    }

    @Test
    void anEmbeddedClusterHasOneJmxAddress() throws Exception {
        try (Cluster cluster = Cluster.temporary()) {
            cluster.up();
            cluster.down();
            int port;
            try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                port = free.getLocalPort();
            }
            Path users = Files.writeString(cluster.base().resolve("users"), "admin secret\n");
            String address = "jmx_address = \"127.0.0.1:%d\"\n".formatted(port);
            String login = "\n[jmx]\npassword_file = \"%s\"\n".formatted(users);
            cluster.configure("mds-1", c -> address + c + login);
            cluster.configure("mount", c -> address + c);
            cluster.tryUp().saysOneLine(3, "users", "chmod 600");

            Files.setPosixFilePermissions(users, PosixFilePermissions.fromString("rw-------"));
            cluster.tryUp().saysOneLine(3, "jmx_address", "127.0.0.1:" + port);

            cluster.configure("mount", c -> c + login);
            cluster.up();
            JMXServiceURL url =
                    new JMXServiceURL(
                            "service:jmx:rmi:///jndi/rmi://127.0.0.1:%d/jmxrmi".formatted(port));
            assertThatThrownBy(() -> connect(url, "guess").close())
                    .isInstanceOf(SecurityException.class);
            try (JMXConnector admin = connect(url, "secret")) {
                MBeanServerConnection server = admin.getMBeanServerConnection();
                assertThat(server.queryNames(new ObjectName("io.cairn:type=*Operation,*"), null))
                        .extracting(name -> name.getKeyProperty("part"))
                        .contains("mds-1", "data-1", "data-2", "data-3", "mount");
            }
        }
    }

    @SuppressWarnings("BanJNDI") // the address is the test's
    private static JMXConnector connect(JMXServiceURL url, String password) throws IOException {
        return JMXConnectorFactory.connect(
                url, Map.of(JMXConnector.CREDENTIALS, new String[] {"admin", password}));
    }

    @Test
    void jmxAndPrometheusAgree() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes")) {
            cluster.up();
            assertThat(cluster.status().path("metrics_addresses").size()).isEqualTo(5);
            Shell.bash(
                            "cp -r /usr/include/asm-generic '%1$s'/ && sync && cat '%1$s'/*/*.h >/dev/null"
                                    .formatted(cluster.mnt()))
                    .ok();
            compare(cluster, "mds-1", "MdsOperation ", "MdsMutation ");
            compare(cluster, "data-1", "DataserverOperation ");
            compare(cluster, "mount", "MountOperation ", "ClientOperation ");
        }
    }

    /**
     * Some operations go on, such as heartbeats: looks until one of each kind was seen at rest,
     * when it must be the same in both.
     */
    private static void compare(Cluster cluster, String part, String... kinds) throws Exception {
        Set<String> compared = new TreeSet<>();
        try (JmxOf jmx = new JmxOf(cluster.process(part).orElseThrow().pid())) {
            Awaitility.await("operations of " + part + " at rest: " + String.join(" ", kinds))
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> {
                        compareThoseAtRest(cluster, part, jmx, compared);
                        return Stream.of(kinds)
                                .allMatch(k -> compared.stream().anyMatch(c -> c.startsWith(k)));
                    });
        }
        System.out.println(part + ": the same in JMX and Prometheus: " + compared);
    }

    private static void compareThoseAtRest(
            Cluster cluster, String part, JmxOf jmx, Set<String> compared) throws Exception {
        Map<String, Map<String, Long>> before = prometheus(cluster, part);
        Map<String, Map<String, Long>> between = jmx.operations();
        Map<String, Map<String, Long>> after = prometheus(cluster, part);
        assertThat(between.keySet()).as("operations in JMX").containsAll(before.keySet());
        before.forEach((operation, values) -> {
            assertThat(values).as("Prometheus: " + operation).containsOnlyKeys(STATISTICS);
            if (values.equals(after.get(operation))) {
                assertThat(between.get(operation)).as("JMX: " + operation).isEqualTo(values);
                if (values.getOrDefault(COUNT, 0L) > 0) {
                    compared.add(operation);
                }
            }
        });
    }

    /**
     * By operation, named {@code MdsOperation {op=create, part=mds-1}}: the count, and the
     * quantiles of the latency in nanoseconds.
     */
    private static Map<String, Map<String, Long>> prometheus(Cluster cluster, String part)
            throws IOException, InterruptedException {
        Map<String, Map<String, Long>> operations = new TreeMap<>();
        Map<String, Long> counts = new HashMap<>();
        Matcher sample = SAMPLE.matcher(Prometheus.scrape(cluster, part));
        while (sample.find()) {
            Map<String, String> tags = new TreeMap<>();
            Matcher tag = TAG.matcher(sample.group(3));
            while (tag.find()) {
                tags.put(tag.group(1), tag.group(2));
            }
            String quantile = tags.remove("quantile");
            String operation = camelCase(sample.group(1)) + " " + tags;
            double value = Double.parseDouble(sample.group(4));
            if (quantile == null) {
                counts.put(operation, Math.round(value));
            } else {
                operations
                        .computeIfAbsent(operation, o -> new TreeMap<>())
                        .put(quantile, Math.round(value * 1e9));
            }
        }
        // Other counters are there too, which have no latency.
        operations.forEach((operation, values) ->
                values.put(COUNT, requireNonNull(counts.get(operation), operation)));
        return operations;
    }

    private static String camelCase(String name) {
        return Pattern.compile("(?:^|_)(.)")
                .matcher(name)
                .replaceAll(m -> m.group(1).toUpperCase(ROOT));
    }

    /** The beans of one process on this machine, attached to as an administrator does. */
    private static final class JmxOf implements AutoCloseable {
        private final com.sun.tools.attach.VirtualMachine vm;
        private final JMXConnector connector;

        @SuppressWarnings("BanJNDI") // the address comes from a process that the test started
        JmxOf(long pid) throws Exception {
            vm = com.sun.tools.attach.VirtualMachine.attach(Long.toString(pid));
            connector =
                    JMXConnectorFactory.connect(new JMXServiceURL(vm.startLocalManagementAgent()));
        }

        /** As {@link MetricsTest#prometheus}. */
        Map<String, Map<String, Long>> operations() throws Exception {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            Map<String, Map<String, Long>> operations = new TreeMap<>();
            for (ObjectName bean : server.queryNames(new ObjectName("io.cairn:*"), null)) {
                Map<String, Long> values = new TreeMap<>();
                for (Attribute attribute :
                        server.getAttributes(bean, LATENCIES.keySet().toArray(String[]::new))
                                .asList()) {
                    double micros = ((Number) attribute.getValue()).doubleValue();
                    values.put(
                            requireNonNull(LATENCIES.get(attribute.getName())),
                            Math.round(micros * 1e3));
                }
                if (!values.isEmpty()) {
                    values.put(COUNT, ((Number) server.getAttribute(bean, "Count")).longValue());
                    Map<String, String> tags = new TreeMap<>(bean.getKeyPropertyList());
                    operations.put(tags.remove("type") + " " + tags, values);
                }
            }
            return operations;
        }

        @Override
        public void close() throws IOException {
            try {
                connector.close();
            } finally {
                vm.detach();
            }
        }
    }
}
