package io.cairn.cli.output;

import java.util.Locale;

/** Lengths of time for people. */
final class Spans {
    private static final double MINUTE = 60;
    private static final double HOUR = 60 * MINUTE;
    private static final double DAY = 24 * HOUR;

    private Spans() {}

    /** In the largest unit of which there are two. */
    static String text(double seconds) {
        if (seconds < 2 * MINUTE) {
            return String.format(Locale.ROOT, "%.0f s", Math.ceil(seconds));
        }
        if (seconds < 2 * HOUR) {
            return String.format(Locale.ROOT, "%.0f min", seconds / MINUTE);
        }
        return seconds < 2 * DAY
                ? String.format(Locale.ROOT, "%.0f h", seconds / HOUR)
                : String.format(Locale.ROOT, "%.0f days", seconds / DAY);
    }
}
