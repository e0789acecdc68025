package io.cairn.common.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.metrics.MetersTest.TestMeter;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.management.Attribute;
import javax.management.AttributeNotFoundException;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanException;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

/** What a user of JMX sees of the meters, by a bean server of its own. */
class BeansTest {
    private final MBeanServer server = MBeanServerFactory.newMBeanServer();
    private final ProcessMetrics process = new ProcessMetrics(server);

    @Test
    void anOperationIsABeanWithCountErrorsAndLatencies() throws Exception {
        OperationTimer create = process.part("mds-1").timer(TestMeter.OPERATION, "create");
        create.record(1_000_000);
        create.record(2_000_000);
        create.recordError(5_000_000);

        String bean = "io.cairn:type=TestOperation,part=mds-1,op=create";
        Map<String, Object> values = values(bean);
        assertThat(values)
                .containsOnlyKeys(
                        "Count",
                        "Errors",
                        "TotalMicros",
                        "P50Micros",
                        "P99Micros",
                        "P999Micros",
                        "MaxMicros");
        assertThat(values).containsEntry("Count", 3L).containsEntry("Errors", 1L);
        assertThat(values).containsEntry("TotalMicros", 8000L).containsEntry("MaxMicros", 5000.0);
        assertThat(values.get("P50Micros"))
                .asInstanceOf(InstanceOfAssertFactories.DOUBLE)
                .isBetween(2000.0, 2000.0 * 17 / 16);

        MBeanInfo info = server.getMBeanInfo(new ObjectName(bean));
        assertThat(info.getDescription()).isEqualTo("Operations served");
        assertThat(info.getAttributes())
                .allMatch(a -> a.isReadable() && !a.isWritable())
                .filteredOn(a -> a.getName().endsWith("Micros"))
                .allMatch(a -> a.getDescription().contains("in microseconds"));
        assertThat(info.getOperations()).isEmpty();
    }

    @Test
    void countersAndGaugesWithTheSameTagsAreAttributesOfOneBean() throws Exception {
        Meters meters = process.part("data-1");
        meters.counter(TestMeter.SENT).increment(7);
        meters.gauge(TestMeter.QUEUE, () -> 42);
        meters.gauge(TestMeter.LEASE, () -> 1.5);
        meters.gauge(TestMeter.DELETION_RATE, () -> 0.25);
        meters.gauge(TestMeter.USED, () -> 1L << 40, "0");
        meters.gauge(TestMeter.USED, () -> 2L << 40, "1");
        meters.distribution(TestMeter.BATCH).record(100);

        assertThat(values("io.cairn:type=Test,part=data-1"))
                .isEqualTo(
                        Map.of(
                                "SentBytes",
                                7L,
                                "Queue",
                                42L,
                                "LeaseSeconds",
                                1.5,
                                "DeletionRate",
                                0.25));
        assertThat(values("io.cairn:type=Test,part=data-1,disk=0"))
                .isEqualTo(Map.of("UsedBytes", 1L << 40));
        assertThat(values("io.cairn:type=Test,part=data-1,disk=1"))
                .isEqualTo(Map.of("UsedBytes", 2L << 40));
        assertThat(values("io.cairn:type=TestBatch,part=data-1"))
                .containsOnlyKeys(
                        "Count", "SumBytes", "P50Bytes", "P99Bytes", "P999Bytes", "MaxBytes")
                .containsEntry("SumBytes", 100L);
        MBeanInfo info = server.getMBeanInfo(new ObjectName("io.cairn:type=Test,part=data-1"));
        assertThat(descriptions(info))
                .containsEntry("Queue", "Requests waiting")
                .containsEntry("SentBytes", "Bytes sent (since the start)");
    }

    @Test
    void namesWithEverythingInThemAreQuotedAndFoundAgain() throws Exception {
        List<String> hostile =
                List.of(
                        "a,op=b",
                        "*",
                        "?",
                        "\"",
                        "back\\slash",
                        "two\nlines",
                        "",
                        "a b",
                        "ü:=,",
                        "''");
        Meters meters = process.part("part,type=\"*\"");
        for (String op : hostile) {
            meters.timer(TestMeter.OPERATION, op).record(1);
        }
        assertThat(server.queryNames(new ObjectName("io.cairn:*"), null))
                .hasSize(hostile.size())
                .allMatch(n -> n.getKeyProperty("type").equals("TestOperation"))
                .allMatch(
                        n -> ObjectName.unquote(n.getKeyProperty("part")).equals("part,type=\"*\""))
                .extracting(n -> ObjectName.unquote(n.getKeyProperty("op")))
                .containsExactlyInAnyOrderElementsOf(hostile);
    }

    @Test
    void beansOfAPartGoWhenItStopsAndThoseOfOthersStay() throws Exception {
        Meters one = process.part("data-1");
        Meters two = process.part("data-2");
        for (Meters part : List.of(one, two)) {
            part.timer(TestMeter.OPERATION, "write").record(1);
            part.gauge(TestMeter.QUEUE, () -> 1);
        }
        assertThat(server.queryNames(new ObjectName("io.cairn:*"), null)).hasSize(4);
        one.close();
        assertThat(server.queryNames(new ObjectName("io.cairn:*"), null))
                .hasSize(2)
                .allMatch(n -> n.getKeyProperty("part").equals("data-2"));
        assertThat(process.scrape()).contains("part=\"data-2\"").doesNotContain("part=\"data-1\"");
        one.gauge(TestMeter.LEASE, () -> 1);
        assertThat(server.queryNames(new ObjectName("io.cairn:*"), null)).hasSize(2);
        process.close();
        assertThat(server.queryNames(new ObjectName("io.cairn:*"), null)).isEmpty();
        two.close();
    }

    @Test
    void whoTakesAMeterOverKeepsItWhenTheFormerOwnerCloses() throws Exception {
        Meters part = process.part("mds-1");
        Meters before = part.scope();
        before.gauge(TestMeter.USED, () -> 1, "0");
        Meters after = part.scope();
        after.gauge(TestMeter.USED, () -> 2, "0");
        before.close();
        assertThat(values("io.cairn:type=Test,part=mds-1,disk=0")).containsEntry("UsedBytes", 2L);
        after.close();
        assertThatThrownBy(() -> values("io.cairn:type=Test,part=mds-1,disk=0"))
                .isInstanceOf(InstanceNotFoundException.class);
    }

    @Test
    void aSecondProcessOfTheSamePartsDoesNotHarmTheFirst() throws Exception {
        process.part("mds-1").gauge(TestMeter.QUEUE, () -> 1);
        ProcessMetrics second = new ProcessMetrics(server);
        second.part("mds-1").gauge(TestMeter.QUEUE, () -> 2);
        second.close();
        assertThat(values("io.cairn:type=Test,part=mds-1")).containsEntry("Queue", 1L);
    }

    @Test
    void whatCannotBeReadIsSaidAndLeftOutOfLists() throws Exception {
        Meters part = process.part("mds-1");
        part.gauge(TestMeter.QUEUE, () -> Double.NaN);
        part.gauge(
                TestMeter.LEASE,
                () -> {
                    throw new IllegalStateException("closed");
                });
        part.gauge(TestMeter.DELETION_RATE, () -> 1);
        ObjectName name = new ObjectName("io.cairn:type=Test,part=mds-1");
        assertThatThrownBy(() -> server.getAttribute(name, "Queue"))
                .isInstanceOf(MBeanException.class)
                .hasRootCauseMessage("the value is not known now");
        assertThat(
                        server.getAttributes(
                                name, new String[] {"Queue", "LeaseSeconds", "DeletionRate"}))
                .containsExactly(new Attribute("DeletionRate", 1.0));
        assertThatThrownBy(() -> server.getAttribute(name, "Nonsense"))
                .isInstanceOf(AttributeNotFoundException.class);
        assertThatThrownBy(() -> server.setAttribute(name, new Attribute("DeletionRate", 2.0)))
                .isInstanceOf(AttributeNotFoundException.class)
                .hasMessageContaining("read-only");
    }

    @Test
    void aTagCannotTakeTheNameOfOneThatIsThereAnyway() {
        for (String tag : List.of("part", "type", "quantile")) {
            assertThatThrownBy(() ->
                            MeterSpec.Definition.of(MeterSpec.Kind.GAUGE, "", "Something", tag))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    private Map<String, Object> values(String bean) throws Exception {
        ObjectName name = new ObjectName(bean);
        Map<String, Object> values = new TreeMap<>();
        for (MBeanAttributeInfo attribute : server.getMBeanInfo(name).getAttributes()) {
            Object value = server.getAttribute(name, attribute.getName());
            assertThat(attribute.getType()).isEqualTo(value instanceof Long ? "long" : "double");
            values.put(attribute.getName(), value);
        }
        return values;
    }

    private static Map<String, String> descriptions(MBeanInfo info) {
        return Arrays.stream(info.getAttributes())
                .collect(
                        Collectors.toMap(
                                MBeanAttributeInfo::getName, MBeanAttributeInfo::getDescription));
    }
}
