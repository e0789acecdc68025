package io.cairn.cli.stats;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The metrics of a process at one moment.
 *
 * @param takenNanos by {@link System#nanoTime}
 * @param values by their series
 */
record Reading(long takenNanos, Map<Series, Double> values) {
    private static final Pattern LINE = Pattern.compile("(?m)^(\\w+)(?:\\{(.*)})? (\\S+)$");
    private static final Pattern TAG = Pattern.compile("(\\w+)=\"((?:[^\"\\\\]|\\\\.)*)\"");

    /**
     * What one line of the text is about.
     *
     * @param tags sorted by name
     */
    record Series(String name, Map<String, String> tags) {
        Series {
            tags = new TreeMap<>(tags);
        }

        Series named(String other) {
            return new Series(other, tags);
        }

        Series with(String tag, String value) {
            Map<String, String> more = new TreeMap<>(tags);
            more.put(tag, value);
            return new Series(name, more);
        }

        String part() {
            return tags.getOrDefault("part", "");
        }
    }

    /** Of Prometheus's text format; lines that are not understood are left out. */
    static Reading parse(long takenNanos, String text) {
        Map<Series, Double> values = new LinkedHashMap<>();
        Matcher line = LINE.matcher(text);
        while (line.find()) {
            Map<String, String> tags = new TreeMap<>();
            if (line.group(2) != null) {
                Matcher tag = TAG.matcher(line.group(2));
                while (tag.find()) {
                    tags.put(tag.group(1), unescaped(tag.group(2)));
                }
            }
            try {
                values.put(new Series(line.group(1), tags), Double.valueOf(line.group(3)));
            } catch (NumberFormatException e) {
                continue; // +Inf and the like, which no meter of ours has
            }
        }
        return new Reading(takenNanos, values);
    }

    private static String unescaped(String value) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '\\' && i + 1 < value.length()) {
                i++;
                c = value.charAt(i) == 'n' ? '\n' : value.charAt(i);
            }
            text.append(c);
        }
        return text.toString();
    }

    /** 0 where it is not there yet. */
    double value(Series series) {
        return values.getOrDefault(series, 0.0);
    }

    /** The parts that the process has, by their tags. */
    Set<String> parts() {
        Set<String> parts = new TreeSet<>();
        values.keySet().stream().map(Series::part).filter(p -> !p.isEmpty()).forEach(parts::add);
        return parts;
    }
}
