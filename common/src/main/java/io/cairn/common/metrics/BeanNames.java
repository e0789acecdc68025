package io.cairn.common.metrics;

import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/**
 * How meters are called in JMX. The counters and gauges of a module that have the same tags are
 * attributes of one bean, {@code io.cairn:type=Mds,part=mds-1}; each timer and each distribution is
 * a bean of its own, {@code io.cairn:type=MdsOperation,part=mds-1,op=create}.
 */
final class BeanNames {
    /** In front of every name; also the domain that the beans of a process are looked for in. */
    static final String DOMAIN = "io.cairn";

    /** What stands in an object name without quotes. */
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9._-]+");

    private BeanNames() {}

    /**
     * The name of the bean that shows a meter. Tags stand in the order of the spec, since tools
     * make their trees of beans in this order.
     */
    static ObjectName of(MeterSpec spec, String part, List<String> tagValues) {
        StringBuilder name = new StringBuilder(DOMAIN + ":type=" + type(spec));
        name.append(",part=").append(quoted(part));
        for (int i = 0; i < tagValues.size(); i++) {
            name.append(',').append(spec.tagNames().get(i)).append('=');
            name.append(quoted(tagValues.get(i)));
        }
        try {
            return new ObjectName(name.toString());
        } catch (MalformedObjectNameException e) {
            throw new IllegalArgumentException(name.toString(), e);
        }
    }

    /** {@code MdsOperation} of {@code cairn.mds.operation}, {@code Mds} of one of its gauges. */
    static String type(MeterSpec spec) {
        String name =
                switch (spec.kind()) {
                    case TIMER, DISTRIBUTION -> spec.meterName();
                    case COUNTER, GAUGE, RATE -> spec.prefix();
                };
        return camelCase(name.substring(name.indexOf('.') + 1));
    }

    /** {@code WalUsedBytes} of {@code cairn.dataserver.wal.used} in bytes. */
    static String attribute(MeterSpec spec) {
        return withUnit(camelCase(spec.name().toLowerCase(Locale.ROOT)), spec.unit());
    }

    /** A name of a value with its unit behind it, unless it ends with that anyway. */
    static String withUnit(String name, String unit) {
        String suffix = camelCase(unit);
        return name.endsWith(suffix) ? name : name + suffix;
    }

    private static String quoted(String value) {
        return PLAIN.matcher(value).matches() ? value : ObjectName.quote(value);
    }

    private static String camelCase(String words) {
        StringBuilder name = new StringBuilder();
        for (String word : words.split("[._]", 0)) {
            if (!word.isEmpty()) {
                name.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
            }
        }
        return name.toString();
    }
}
