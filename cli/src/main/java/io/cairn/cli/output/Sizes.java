package io.cairn.cli.output;

import io.cairn.common.config.ByteSize;

/** Byte counts for people. */
public final class Sizes {
    private Sizes() {}

    /** Three significant digits: {@code 1.50 GiB}, {@code 512 MiB}. */
    public static String text(long bytes) {
        return ByteSize.text(bytes);
    }

    /** {@code 42 %, 1.20 GiB of 2.86 GiB}. */
    static String progress(long done, long total) {
        long percent = total == 0 ? 100 : 100 * done / total;
        return "%d %%, %s of %s".formatted(percent, text(done), text(total));
    }
}
