package io.cairn.common.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.HostPort;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class MetersTest {
    /** Attributes in JMX of the quantiles in Prometheus. */
    private static final Map<String, String> LATENCIES =
            Map.of(
                    "0.5",
                    "P50Micros",
                    "0.99",
                    "P99Micros",
                    "0.999",
                    "P999Micros",
                    "1",
                    "MaxMicros");

    enum TestMeter implements MeterSpec {
        OPERATION(Kind.TIMER, "", "Operations served", "op"),
        QUEUE(Kind.GAUGE, "", "Requests waiting"),
        SENT(Kind.COUNTER, "bytes", "Bytes sent"),
        BATCH(Kind.DISTRIBUTION, "bytes", "Sizes of batches"),
        USED(Kind.GAUGE, "bytes", "Space taken", "disk"),
        LEASE(Kind.GAUGE, "seconds", "What is left of the lease"),
        DELETION_RATE(Kind.RATE, "", "Deleted per second, lately");

        private final Definition definition;

        TestMeter(Kind kind, String unit, String description, String... tagNames) {
            definition = Definition.of(kind, unit, description, tagNames);
        }

        @Override
        public Definition definition() {
            return definition;
        }

        @Override
        public String prefix() {
            return "cairn.test";
        }
    }

    @Test
    void latencyPercentilesAreEqualInJmxAndPrometheus() throws Exception {
        try (ProcessMetrics process = new ProcessMetrics();
                PrometheusEndpoint endpoint =
                        new PrometheusEndpoint(HostPort.parse("127.0.0.1:0"), process::scrape)) {
            Meters meters = process.part("mds-1");
            OperationTimer create = meters.timer(TestMeter.OPERATION, "create");
            for (int i = 1; i <= 1000; i++) {
                create.record(i * 1000L);
            }
            create.recordError(5_000_000);
            meters.gauge(TestMeter.QUEUE, () -> 42);
            meters.counter(TestMeter.SENT).increment(7);
            meters.distribution(TestMeter.BATCH).record(100);

            String text = get(endpoint.address(), "/metrics");
            for (Map.Entry<String, String> latency : LATENCIES.entrySet()) {
                double prometheus =
                        value(
                                text,
                                "cairn_test_operation_latency_seconds{op=\"create\",part=\"mds-1\",quantile=\""
                                        + latency.getKey()
                                        + "\"}");
                assertThat(prometheus).isPositive();
                assertThat(jmx(latency.getValue()))
                        .isCloseTo(prometheus * 1e6, Percentage.withPercentage(1e-6));
            }
            assertThat(value(text, "cairn_test_operation_total{op=\"create\",part=\"mds-1\"}"))
                    .isEqualTo(1001);
            assertThat(
                            value(
                                    text,
                                    "cairn_test_operation_errors_total{op=\"create\",part=\"mds-1\"}"))
                    .isEqualTo(1);
            assertThat(
                            value(
                                    text,
                                    "cairn_test_operation_time_seconds_total{op=\"create\",part=\"mds-1\"}"))
                    .isBetween(0.5, 0.51);
            assertThat(value(text, "cairn_test_queue{part=\"mds-1\"}")).isEqualTo(42);
            assertThat(value(text, "cairn_test_sent_bytes_total{part=\"mds-1\"}")).isEqualTo(7);
            assertThat(value(text, "cairn_test_batch_bytes{part=\"mds-1\",quantile=\"0.99\"}"))
                    .isBetween(100.0, 107.0);
            assertThat(text).contains("jvm_memory_used_bytes", "process_cpu_usage");
        }
    }

    @Test
    void percentilesCoverTheRecentWindowsAndStayWhileIdle() {
        AtomicLong now = new AtomicLong();
        RecentValues values = new RecentValues(now::get);
        values.record(1_000_000);
        assertThat(values.snapshot().p99()).isGreaterThanOrEqualTo(1_000_000);
        for (int window = 0; window < 3; window++) {
            now.addAndGet(RecentValues.WINDOW_NANOS);
            values.record(10);
            values.snapshot();
        }
        assertThat(values.snapshot().p99()).isEqualTo(10);
        assertThat(values.snapshot().max()).isEqualTo(1_000_000);
        now.addAndGet(Duration.ofHours(1).toNanos());
        values.snapshot();
        now.addAndGet(Duration.ofHours(1).toNanos());
        assertThat(values.snapshot().p50()).isEqualTo(10);
    }

    @Test
    void aMeterIsMadeOnceAndWithTheKindAndTagsOfItsSpec() {
        Meters meters = Meters.unpublished();
        assertThat(meters.timer(TestMeter.OPERATION, "a"))
                .isSameAs(meters.timer(TestMeter.OPERATION, "a"));
        assertThat(meters.timer(TestMeter.OPERATION, "b"))
                .isNotSameAs(meters.timer(TestMeter.OPERATION, "a"));
        assertThatThrownBy(() -> meters.timer(TestMeter.OPERATION))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> meters.counter(TestMeter.QUEUE))
                .isInstanceOf(IllegalArgumentException.class);
        meters.close();
        assertThat(meters.registry().getMeters()).isEmpty();
    }

    @Test
    void theManualNamesEveryMeter() {
        assertThat(MeterDoc.markdown("Test", List.of(TestMeter.values())))
                .contains(
                        "`cairn_test_sent_bytes_total` | counter",
                        "`cairn_test_queue` | gauge |  | `type=Test` `Queue`",
                        "| op | `type=TestOperation` | Operations",
                        "| `type=Test` `SentBytes` | Bytes");
    }

    @Test
    void halfARequestKeepsNobodyWaiting() throws Exception {
        try (PrometheusEndpoint endpoint =
                        new PrometheusEndpoint(HostPort.parse("127.0.0.1:0"), () -> "all well");
                Socket half =
                        new Socket(InetAddress.getLoopbackAddress(), endpoint.address().port())) {
            half.getOutputStream().write("GET /met".getBytes(StandardCharsets.US_ASCII));
            assertThat(get(endpoint.address(), "/metrics")).isEqualTo("all well");
            half.shutdownOutput();
            assertThat(half.getInputStream().read()).isEqualTo(-1);
        }
    }

    private static String get(HostPort address, String path) throws Exception {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request =
                    HttpRequest.newBuilder(URI.create("http://" + address + path)).build();
            return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        }
    }

    private static double value(String text, String series) {
        Matcher line =
                Pattern.compile("^" + Pattern.quote(series) + " (\\S+)$", Pattern.MULTILINE)
                        .matcher(text);
        assertThat(line.find()).as("series %s in %s", series, text).isTrue();
        return Double.parseDouble(line.group(1));
    }

    private static double jmx(String attribute) throws Exception {
        ObjectName name = new ObjectName("io.cairn:type=TestOperation,part=mds-1,op=create");
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        return ((Number) server.getAttribute(name, attribute)).doubleValue();
    }
}
