package io.cairn.common.config;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as written in configuration: a whole number and a unit, {@code "250ms"}. */
public final class Durations {
    private static final Pattern FORM = Pattern.compile("(\\d{1,18})(us|ms|s|min|h|d)");
    private static final Map<String, ChronoUnit> UNITS = new LinkedHashMap<>();

    static {
        UNITS.put("d", ChronoUnit.DAYS);
        UNITS.put("h", ChronoUnit.HOURS);
        UNITS.put("min", ChronoUnit.MINUTES);
        UNITS.put("s", ChronoUnit.SECONDS);
        UNITS.put("ms", ChronoUnit.MILLIS);
        UNITS.put("us", ChronoUnit.MICROS);
    }

    private Durations() {}

    /**
     * @throws IllegalArgumentException if the text is not a duration of less than 2^63 nanoseconds
     *     (292 years)
     */
    public static Duration parse(String text) {
        Matcher m = FORM.matcher(text);
        if (!m.matches()) {
            throw new IllegalArgumentException("not a duration");
        }
        ChronoUnit unit = UNITS.getOrDefault(m.group(2), ChronoUnit.SECONDS);
        try {
            return Duration.ofNanos(Duration.of(Long.parseLong(m.group(1)), unit).toNanos());
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("duration too long", e);
        }
    }

    /**
     * The largest unit that needs no fraction; the inverse of {@link #parse} for whole
     * microseconds.
     */
    public static String format(Duration d) {
        for (Map.Entry<String, ChronoUnit> unit : UNITS.entrySet()) {
            long nanos = unit.getValue().getDuration().toNanos();
            if (!d.isZero() && d.toNanos() % nanos == 0) {
                return d.toNanos() / nanos + unit.getKey();
            }
        }
        return d.isZero() ? "0s" : d.toNanos() / 1000 + "us";
    }
}
