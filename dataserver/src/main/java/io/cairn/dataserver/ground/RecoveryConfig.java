package io.cairn.dataserver.ground;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Key;
import io.cairn.common.config.KeyException;
import java.time.Duration;

/** {@code [recovery]}: how fast this server copies to replicas that lack something. */
public record RecoveryConfig(
        @Key(
                        value =
                                "Bytes a second, at most, that this server copies to replicas that"
                                        + " lack something.",
                        defaultValue = "1GiB",
                        min = "64KiB",
                        max = "1TiB")
                ByteSize maxRate,
        @Key(
                        value =
                                "Bytes a second that it copies however slow the operations of"
                                        + " clients are.",
                        defaultValue = "4MiB",
                        min = "64KiB",
                        max = "1TiB")
                ByteSize minRate,
        @Key(
                        value =
                                "While reads of clients take longer here, on average, or writes, or"
                                        + " the writes that this server has as a backup, the rate is"
                                        + " halved five times a second; else it grows again. Servers"
                                        + " that copy to this one do the same with what they copy to"
                                        + " it.",
                        defaultValue = "25ms",
                        min = "1ms",
                        max = "60s")
                Duration clientLatency) {

    public RecoveryConfig {
        KeyException.require(
                minRate.bytes() <= maxRate.bytes(),
                "min_rate",
                "must not be more than max_rate, which is " + maxRate);
    }
}
