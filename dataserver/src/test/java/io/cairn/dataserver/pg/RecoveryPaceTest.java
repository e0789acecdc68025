package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.dataserver.ground.DataServerMeter;
import io.cairn.dataserver.ground.RecoveryConfig;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class RecoveryPaceTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int MIB = 1 << 20;
    private static final int DISK = 3;
    private static final int OTHER = 4;

    private final Meters meters = Meters.unpublished();
    private final OperationTimer clients = meters.timer(DataServerMeter.PREPARE);
    private final OperationTimer backups = meters.timer(DataServerMeter.BACKUP);
    private long nanos = 77 * SECOND;
    private final RecoveryPace pace =
            new RecoveryPace(
                    new RecoveryConfig(
                            ByteSize.ofMiB(100), ByteSize.ofMiB(10), Duration.ofMillis(20)),
                    List.of(clients, backups),
                    () -> nanos);

    /** Bytes copied in so many seconds, in chunks of a MiB, asked for every 20 ms. */
    private long copied(int seconds, int clientMillis) {
        long bytes = 0;
        for (int tick = 0; tick < 50 * seconds; tick++) {
            nanos += SECOND / 50;
            if (clientMillis > 0) {
                clients.record(clientMillis * 1_000_000L);
            }
            while (pace.allows(DISK)) {
                pace.sent(DISK, MIB);
                bytes += MIB;
            }
        }
        return bytes;
    }

    @Test
    void takesAllItMayWhereThereAreNoClients() {
        assertThat(copied(10, 0)).isCloseTo(1000L * MIB, within(20L * MIB));
    }

    @Test
    void takesAllItMayWhileClientsAreServedInTime() {
        assertThat(copied(10, 15)).isCloseTo(1000L * MIB, within(20L * MIB));
    }

    @Test
    void yieldsToClientsAndComesBack() {
        copied(2, 50);
        assertThat(pace.rate()).isEqualTo(10.0 * MIB);
        assertThat(copied(10, 50)).as("never less").isCloseTo(100L * MIB, within(10L * MIB));
        copied(3, 5);
        assertThat(pace.rate()).isEqualTo(100.0 * MIB);
        assertThat(copied(10, 5)).isCloseTo(1000L * MIB, within(20L * MIB));
    }

    /** Bytes copied in so many seconds to a disk whose server says whether its clients wait. */
    private long answered(int disk, int seconds, boolean clientsWait) {
        long bytes = 0;
        for (int tick = 0; tick < 50 * seconds; tick++) {
            nanos += SECOND / 50;
            while (pace.allows(disk)) {
                pace.sent(disk, MIB);
                pace.answered(disk, clientsWait);
                bytes += MIB;
            }
        }
        return bytes;
    }

    @Test
    void yieldsToClientsOfTheLearnersServerAndComesBack() {
        answered(DISK, 2, true);
        assertThat(answered(DISK, 10, true))
                .as("never less")
                .isCloseTo(100L * MIB, within(10L * MIB));
        answered(DISK, 5, false);
        assertThat(answered(DISK, 10, false)).isCloseTo(1000L * MIB, within(20L * MIB));
    }

    @Test
    void otherLearnersDoNotWaitForTheOneWhoseClientsDo() {
        answered(DISK, 2, true);
        assertThat(pace.rate()).isEqualTo(100.0 * MIB);
        assertThat(answered(OTHER, 10, false)).isCloseTo(1000L * MIB, within(20L * MIB));
        assertThat(answered(DISK, 10, true)).isCloseTo(100L * MIB, within(12L * MIB));
    }

    /** One answer of many in a window is enough. */
    @Test
    void whatALearnerSaidInTheWindowCounts() {
        pace.answered(DISK, true);
        nanos += SECOND / 10;
        pace.answered(DISK, true);
        nanos += SECOND / 10;
        pace.answered(DISK, false);
        nanos += SECOND;
        assertThat(pace.allows(DISK)).isTrue();
        assertThat(answered(DISK, 1, true)).isLessThan(40L * MIB);
    }

    @Test
    void quickOperationsDoNotHideSlowOnesOfAnotherKind() {
        for (int window = 0; window < 10; window++) {
            nanos += SECOND / 5;
            for (int i = 0; i < 1000; i++) {
                clients.record(100_000);
            }
            backups.record(50_000_000L);
            pace.allows(DISK);
        }
        assertThat(pace.rate()).isEqualTo(10.0 * MIB);
    }

    /** What was slow while nothing was copied was not slow because of it. */
    @Test
    void whatHappenedMeanwhileIsNoReason() {
        clients.record(10 * SECOND);
        nanos += 5 * SECOND;
        assertThat(pace.allows(DISK)).isTrue();
        assertThat(pace.rate()).isEqualTo(100.0 * MIB);
    }

    @Test
    void anAdministratorLimitsBytesBelowWhatIsConfigured() {
        pace.limit(5L * MIB, 0);
        assertThat(pace.rate()).isEqualTo(5.0 * MIB);
        assertThat(copied(10, 0)).isCloseTo(50L * MIB, within(2L * MIB));
        assertThat(copied(10, 50))
                .as("not less for clients")
                .isCloseTo(50L * MIB, within(2L * MIB));
        pace.limit(1000L * MIB, 0);
        copied(3, 0);
        assertThat(copied(10, 0)).isCloseTo(1000L * MIB, within(20L * MIB));
        pace.limit(0, 0);
        assertThat(copied(10, 0)).isCloseTo(1000L * MIB, within(20L * MIB));
    }

    @Test
    void anAdministratorLimitsOperations() {
        pace.limit(0, 7);
        assertThat(copied(10, 0)).isCloseTo(70L * MIB, within(2L * MIB));
        nanos += 100 * SECOND;
        assertThat(copied(10, 0)).as("no credit").isCloseTo(70L * MIB, within(2L * MIB));
        pace.limit(0, 0);
        assertThat(copied(10, 0)).isCloseTo(1000L * MIB, within(20L * MIB));
    }

    /** Time that nobody used is no credit for a burst. */
    @Test
    void aPauseIsNoCredit() {
        nanos += 1000 * SECOND;
        assertThat(copied(1, 0)).isLessThan(120L * MIB);
    }
}
