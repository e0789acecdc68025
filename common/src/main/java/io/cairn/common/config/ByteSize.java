package io.cairn.common.config;

import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A number of bytes, never negative; written {@code "512B"}, {@code "64MiB"}, {@code "2GiB"}. */
public record ByteSize(long bytes) implements Comparable<ByteSize> {
    private static final Pattern FORM = Pattern.compile("(\\d{1,19})(B|KiB|MiB|GiB|TiB)");
    private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    private static final Map<String, Integer> SHIFT =
            Map.of("B", 0, "KiB", 10, "MiB", 20, "GiB", 30, "TiB", 40);

    public ByteSize {
        if (bytes < 0) {
            throw new IllegalArgumentException("negative size " + bytes);
        }
    }

    /**
     * @throws IllegalArgumentException if the text is not a size of less than 2^63 bytes with one
     *     of the units
     */
    public static ByteSize parse(String text) {
        Matcher m = FORM.matcher(text);
        if (!m.matches()) {
            throw new IllegalArgumentException("not a size");
        }
        try {
            long number = Long.parseLong(m.group(1));
            return new ByteSize(
                    Math.multiplyExact(number, 1L << SHIFT.getOrDefault(m.group(2), 0)));
        } catch (NumberFormatException | ArithmeticException e) {
            throw new IllegalArgumentException("size too large", e);
        }
    }

    public static ByteSize ofMiB(long mib) {
        return new ByteSize(Math.multiplyExact(mib, 1L << 20));
    }

    /** For people, to three significant digits: {@code 1.50 GiB}, {@code 512 MiB}. */
    public static String text(long bytes) {
        double value = bytes;
        int unit = 0;
        while (value >= 1000 && unit < UNITS.length - 1) {
            value /= 1024;
            unit++;
        }
        String number = unit == 0 || value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f";
        return String.format(Locale.ROOT, number, value) + " " + UNITS[unit];
    }

    @Override
    public int compareTo(ByteSize other) {
        return Long.compare(bytes, other.bytes);
    }

    /** The largest unit that needs no fraction, so that parse and toString are inverse. */
    @Override
    public String toString() {
        String[] units = {"TiB", "GiB", "MiB", "KiB"};
        int shift = 40;
        for (String unit : units) {
            if (bytes != 0 && bytes % (1L << shift) == 0) {
                return (bytes >> shift) + unit;
            }
            shift -= 10;
        }
        return bytes + "B";
    }
}
