package io.cairn.dataserver.ground;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Key;
import io.cairn.common.config.KeyException;
import java.time.Duration;

/** {@code [scrub]}: how often placement groups are looked through for damage, and how fast. */
public record ScrubConfig(
        @Key(
                        value =
                                "How often the members of a placement group compare which chunks they"
                                        + " have; its primary sees to it.",
                        defaultValue = "1d",
                        min = "1min",
                        max = "365d")
                Duration lightInterval,
        @Key(
                        value =
                                "How often every block of a placement group is read on each of its"
                                        + " members and verified.",
                        defaultValue = "7d",
                        min = "1min",
                        max = "365d")
                Duration deepInterval,
        @Key(
                        value =
                                "Bytes per second that scrubs read from each disk, at most; a sixteenth"
                                        + " of it while clients wait for the disk.",
                        defaultValue = "50MiB",
                        min = "64KiB",
                        max = "16GiB")
                ByteSize rate) {
    public ScrubConfig {
        KeyException.require(
                deepInterval.compareTo(lightInterval) >= 0,
                "deep_interval",
                "must not be shorter than light_interval: a deep scrub is a light one too");
    }
}
