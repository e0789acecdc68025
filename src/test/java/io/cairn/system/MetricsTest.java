package io.cairn.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.junit.jupiter.api.Test;

/** Each operation's count and latency in JMX and in Prometheus, and the same in both. */
class MetricsTest {
    /** name{tags} value: the latency quantiles of one part's operations. */
    private static final Pattern QUANTILE =
            Pattern.compile("(cairn_\\w+_latency_seconds)\\{([^}]*)\\} ([0-9.eE+-]+)");

    @Test
    void jmxAndPrometheusAgree() throws Exception {
        try (Cluster cluster = Cluster.temporary("--processes")) {
            cluster.up();
            Shell.bash(
                            "cp -r /usr/include/linux '%1$s'/ && sync && cat '%1$s'/linux/*.h >/dev/null"
                                    .formatted(cluster.mnt()))
                    .ok();
            Shell.run("umount", cluster.mnt().toString()).ok(); // now nothing moves any more
            for (String part : new String[] {"mds-1", "data-1"}) {
                compare(cluster, part);
            }
        }
    }

    private static void compare(Cluster cluster, String part) throws Exception {
        long pid = cluster.process(part).orElseThrow().pid();
        Map<String, Double> jmx = jmxLatencies(pid);
        Map<String, Double> prometheus = prometheusLatencies(cluster, part);
        assertThat(prometheus.values().stream().filter(v -> v > 0).count())
                .as(part + " timed operations")
                .isPositive();
        prometheus.forEach((name, value) ->
                assertThat(jmx.values().stream().anyMatch(v -> Math.abs(v - value) < 1e-12))
                        .as(part + ": " + name + " = " + value + " in JMX " + jmx)
                        .isTrue());
    }

    private static Map<String, Double> prometheusLatencies(Cluster cluster, String part)
            throws IOException, InterruptedException {
        Map<String, Double> values = new TreeMap<>();
        Matcher line = QUANTILE.matcher(Prometheus.scrape(cluster, part));
        while (line.find()) {
            double value = Double.parseDouble(line.group(3));
            if (!Double.isNaN(value)) {
                values.put(line.group(1) + "{" + line.group(2) + "}", value);
            }
        }
        return values;
    }

    @SuppressWarnings("BanJNDI") // the address comes from a process that the test started
    private static Map<String, Double> jmxLatencies(long pid) throws Exception {
        com.sun.tools.attach.VirtualMachine vm =
                com.sun.tools.attach.VirtualMachine.attach(Long.toString(pid));
        try (JMXConnector connector =
                JMXConnectorFactory.connect(new JMXServiceURL(vm.startLocalManagementAgent()))) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            Map<String, Double> values = new TreeMap<>();
            for (ObjectName name : server.queryNames(new ObjectName("cairn:*"), null)) {
                if (name.toString().contains("atency")) {
                    Object value = server.getAttribute(name, "Value");
                    if (value instanceof Number n && !Double.isNaN(n.doubleValue())) {
                        values.put(name.toString(), n.doubleValue());
                    }
                }
            }
            return values;
        } finally {
            vm.detach();
        }
    }
}
