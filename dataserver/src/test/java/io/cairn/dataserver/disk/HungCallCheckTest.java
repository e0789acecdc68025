package io.cairn.dataserver.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.metrics.Meters;
import io.cairn.dataserver.disk.DiskCalls.Kind;
import io.cairn.dataserver.disk.DiskCalls.Part;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Calls that take as long as the test says, by a clock that only moves when told. */
class HungCallCheckTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private long now = 5 * SECOND;
    private final DiskCalls calls = new DiskCalls(Meters.unpublished(), "0", () -> now);
    private final HungCallCheck check = new HungCallCheck(calls, Duration.ofSeconds(10), now);

    /** Looks four times a second. */
    private String later(int seconds) {
        String found = "";
        for (int i = 0; i < 4 * seconds; i++) {
            now += SECOND / 4;
            found = String.valueOf(check.look(now));
        }
        return found;
    }

    @Test
    void aCallThatDoesNotComeBackHangs() {
        calls.run(
                Part.WAL,
                Kind.SYNC,
                () -> {
                    assertThat(later(9)).isEqualTo("null");
                    assertThat(later(1))
                            .isEqualTo("a sync of its write-ahead log has not come back for 10 s");
                    assertThat(calls.outstanding()).isEqualTo(1);
                    assertThat(calls.oldestNanos()).isEqualTo(10 * SECOND);
                });
        assertThat(check.look(now)).isNull();
        assertThat(calls.outstanding()).isZero();
        assertThat(calls.oldestNanos()).isZero();
    }

    @Test
    void manyCallsThatComeBackDoNotHang() {
        for (int i = 0; i < 20; i++) {
            calls.run(Part.DATA, Kind.READ, () -> assertThat(later(2)).isEqualTo("null"));
        }
        assertThat(calls.timer(Part.DATA, Kind.READ).count()).isEqualTo(20);
        assertThat(calls.timer(Part.DATA, Kind.READ).totalNanos()).isEqualTo(40 * SECOND);
        assertThat(calls.timer(Part.DATA, Kind.READ).errors()).isZero();
    }

    @Test
    void whileTheProcessStoodStillNothingCouldComeBack() {
        calls.run(
                Part.DATA,
                Kind.READ,
                () -> {
                    later(5);
                    now += 60 * SECOND;
                    assertThat(check.look(now)).isNull();
                    assertThat(later(9)).isEqualTo("null");
                    assertThat(later(1)).contains("a read of its data file");
                });
    }

    @Test
    void theIndexMayWriteTablesMeanwhile() {
        calls.run(
                Part.INDEX,
                Kind.SYNC,
                () -> {
                    assertThat(later(59)).isEqualTo("null");
                    assertThat(later(1)).contains("a sync of its chunk index");
                });
        calls.run(
                Part.INDEX,
                Kind.READ,
                () -> assertThat(later(10)).contains("a read of its chunk index"));
    }

    @Test
    void theOldestOfSeveralIsTold() {
        calls.run(
                Part.WAL,
                Kind.WRITE,
                () -> {
                    later(1);
                    calls.run(
                            Part.DATA,
                            Kind.READ,
                            () ->
                                    assertThat(Objects.requireNonNull(calls.oldest()).part())
                                            .isEqualTo(Part.WAL));
                });
        assertThat(calls.oldest()).isNull();
    }

    @Test
    void aCallThatFailsIsCounted() {
        assertThatThrownBy(() ->
                        calls.run(
                                Part.WAL,
                                Kind.WRITE,
                                () -> {
                                    throw new IOException("Input/output error");
                                }))
                .isInstanceOf(IOException.class);
        assertThat(calls.timer(Part.WAL, Kind.WRITE).errors()).isEqualTo(1);
        assertThat(calls.outstanding()).isZero();
    }
}
