package io.cairn.common.metrics;

import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Describes one meter. Each module has one enum that implements this; {@code docs/metrics.md} is
 * generated from it.
 *
 * <pre>{@code
 * enum DataServerMeter implements MeterSpec {
 *     OPERATION(Kind.TIMER, "", "Client operations served", "op"),
 *     WAL_USED(Kind.GAUGE, "bytes", "WAL bytes not yet flushed to the disk", "disk");
 *
 *     private final Definition definition;
 *     ...
 * }
 * }</pre>
 */
public interface MeterSpec {
    /** What a meter measures. */
    enum Kind {
        /** A number that only grows. */
        COUNTER,
        /** A current value: a whole number, or a time in seconds. */
        GAUGE,
        /** A current value per second, with fractions; for Prometheus a gauge as others. */
        RATE,
        /** Operations: their number, errors, total time, and latency percentiles. */
        TIMER,
        /** Sizes and counts: their number, sum and percentiles. */
        DISTRIBUTION
    }

    /**
     * What a meter is, apart from its name.
     *
     * @param unit of the values ({@code "bytes"}), empty for pure numbers; timers are always in
     *     seconds
     * @param description what it tells the administrator, as one line
     * @param tagNames in the order in which {@link Meters} takes their values
     */
    record Definition(Kind kind, String unit, String description, List<String> tagNames) {
        /** Tags that every meter has, in Prometheus or in JMX. */
        private static final Set<String> RESERVED = Set.of("part", "type", "quantile");

        public Definition {
            tagNames = List.copyOf(tagNames);
            if (!Collections.disjoint(RESERVED, tagNames)) {
                throw new IllegalArgumentException("tags may not be called " + RESERVED);
            }
        }

        public static Definition of(
                Kind kind, String unit, String description, String... tagNames) {
            return new Definition(kind, unit, description, List.of(tagNames));
        }
    }

    Definition definition();

    /** What the module's meters begin with: {@code cairn.dataserver}. */
    String prefix();

    /** The enum constant's. */
    String name();

    /** Dotted lower-case name with the module's prefix: {@code cairn.dataserver.wal.used}. */
    default String meterName() {
        return prefix() + "." + name().toLowerCase(Locale.ROOT).replace('_', '.');
    }

    default Kind kind() {
        return definition().kind();
    }

    default String unit() {
        return definition().unit();
    }

    default String description() {
        return definition().description();
    }

    default List<String> tagNames() {
        return definition().tagNames();
    }
}
