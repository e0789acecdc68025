package io.cairn.common.release;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;

/** Releases of Cairn by their names, such as {@code 0.1.0}. */
public final class Release {
    /** The one that was built here. */
    public static final String CURRENT = read();

    private static final int MAX_LENGTH = 64;

    private Release() {}

    /**
     * What a peer says of itself, as it may be shown: printable ASCII, at most 64 characters of it;
     * empty for a peer that does not say.
     */
    public static String shown(String told) {
        return told.substring(0, Math.min(told.length(), MAX_LENGTH)).replaceAll("[^!-~]", "?");
    }

    private static String read() {
        Properties properties = new Properties();
        try (InputStream in = Release.class.getResourceAsStream("release.properties")) {
            properties.load(Objects.requireNonNull(in, "release.properties"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Objects.requireNonNull(properties.getProperty("version"), "version");
    }
}
