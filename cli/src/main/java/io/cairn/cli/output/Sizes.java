package io.cairn.cli.output;

import java.util.Locale;

/** Byte counts for people. */
public final class Sizes {
    private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

    private Sizes() {}

    /** Three significant digits: {@code 1.50 GiB}, {@code 512 MiB}. */
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

    /** {@code 42 %, 1.20 GiB of 2.86 GiB}. */
    static String progress(long done, long total) {
        long percent = total == 0 ? 100 : 100 * done / total;
        return "%d %%, %s of %s".formatted(percent, text(done), text(total));
    }
}
