package io.cairn.common.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One component of every kind; also the pattern to copy for a new configuration record. */
record ExampleConfig(
        @Key(value = "Where everything is kept.", example = "/var/lib/example") Path dataDir,
        @Key(value = "Name of the server.", defaultValue = "one") String name,
        @Key(value = "Whether it is on.", defaultValue = "true") boolean enabled,
        @Key(value = "How many.", defaultValue = "4", min = "1", max = "64") int workers,
        @Key(value = "How many at most.", defaultValue = "100", min = "1") long limit,
        @Key(value = "How full.", defaultValue = "0.5", min = "0", max = "1") double fraction,
        @Key(value = "What kind.", defaultValue = "not-so-plain") Kind kind,
        @Key(value = "How long a lease lasts.", defaultValue = "10s", min = "100ms", max = "1h")
                Duration lease,
        @Key(value = "How often it is renewed.", defaultValue = "5s") Duration renew,
        @Key(value = "How much memory.", defaultValue = "64MiB", min = "1MiB", max = "1GiB")
                ByteSize memory,
        @Key(value = "Where it listens.", defaultValue = "127.0.0.1:0") HostPort listen,
        @Key(value = "Other members.", example = "127.0.0.1:7000") List<HostPort> peers,
        @Key(value = "Where it is watched.", example = "127.0.0.1:9100") Optional<HostPort> metrics,
        @Key("Limits of something.") Nested nested,
        @Key("The disks.") List<Disk> disk,
        @Key("Passed on as they are.") Map<String, String> options) {

    ExampleConfig {
        KeyException.require(
                renew.compareTo(lease) < 0,
                "renew",
                "must be shorter than lease (" + Durations.format(lease) + ")");
    }

    /** Spelled with hyphens in files. */
    enum Kind {
        PLAIN,
        NOT_SO_PLAIN
    }

    record Nested(@Key(value = "A number.", defaultValue = "7", min = "0") int depth) {}

    record Disk(
            @Key(value = "The file.", example = "/dev/sdx") Path path,
            @Key(value = "Its weight.", defaultValue = "1", min = "1") int weight) {}
}
