package io.cairn.common.config;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Describes one configuration key. Required on every component of a configuration record; the key's
 * name is the component's in snake case ({@code listenAddress} is {@code listen_address}).
 *
 * <p>Component types: {@code String}, {@code boolean}, {@code int}, {@code long}, {@code double},
 * enums ({@code AUTO_COMPACT_SAFE} is written {@code "auto-compact-safe"}), {@link
 * java.nio.file.Path} (relative ones are taken from the directory of the file), {@link
 * java.time.Duration} ({@code "250ms"}), {@link ByteSize} ({@code "64MiB"}), {@link HostPort}
 * ({@code "127.0.0.1:7000"}), {@code List} and {@code Optional} of those, a nested record ({@code
 * [table]}), a {@code List} of records ({@code [[table]]}) and {@code Map<String, String>} (a table
 * of free keys).
 *
 * <p>Lists, free tables and nested records are empty when absent (a nested record then takes its
 * own defaults), {@code Optional} is absent. Every other component without {@link #defaultValue} is
 * required.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Key {
    /** What the key means, for the manual: one or more full sentences. */
    String value();

    /** The default, written as in the file but without quotes; empty: the key must be given. */
    String defaultValue() default "";

    /** Smallest value allowed, written like the default; empty: no limit. */
    String min() default "";

    /** Largest value allowed, written like the default; empty: no limit. */
    String max() default "";

    /** Value that the generated example shows for a key that has no default. */
    String example() default "";
}
