package io.cairn.common.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.seed.TestSeed;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StripingTest {
    private static final int GRAIN = FileLayouts.GRAIN;

    /** Fills chunks unit by unit, as the picture in Striping's Javadoc says. */
    private static final class Model {
        final Map<Long, Integer> chunkLengths = new HashMap<>();

        /** Per unit of the file: chunk and offset. */
        final List<long[]> units = new ArrayList<>();

        Model(Striping s, int unitCount) {
            long set = 0;
            int inSet = 0;
            for (int u = 0; u < unitCount; u++) {
                long chunk = set * s.stripeCount() + inSet % s.stripeCount();
                int offset = chunkLengths.getOrDefault(chunk, 0);
                units.add(new long[] {chunk, offset});
                chunkLengths.put(chunk, offset + s.stripeUnit());
                if (++inSet == s.stripeCount() * (s.chunkSize() / s.stripeUnit())) {
                    inSet = 0;
                    set++;
                }
            }
        }

        int lengthAt(long chunk, long fileSize, int unit) {
            long length = 0;
            for (int u = 0; u < units.size() && (long) u * unit < fileSize; u++) {
                if (units.get(u)[0] == chunk) {
                    long bytes = Math.min(unit, fileSize - (long) u * unit);
                    length = units.get(u)[1] + bytes;
                }
            }
            return (int) length;
        }
    }

    @Test
    void smallLayoutsAgreeWithTheModelAtEveryEdge() {
        for (int count = 1; count <= 5; count++) {
            for (int units = 1; units <= 4; units++) {
                for (int unit = 1; unit <= 3; unit++) {
                    compare(new Striping(unit * GRAIN, count, units * unit * GRAIN));
                }
            }
        }
    }

    private static void compare(Striping s) {
        int unitCount = 3 * s.stripeCount() * (s.chunkSize() / s.stripeUnit()) + 2;
        Model model = new Model(s, unitCount);
        for (int u = 0; u < unitCount; u++) {
            for (int within : new int[] {0, 1, s.stripeUnit() - 1}) {
                long offset = (long) u * s.stripeUnit() + within;
                long chunk = model.units.get(u)[0];
                int chunkOffset = (int) model.units.get(u)[1] + within;
                assertThat(s.chunkOf(offset)).isEqualTo(chunk);
                assertThat(s.chunkOffsetOf(offset)).isEqualTo(chunkOffset);
                assertThat(s.fileOffsetOf(chunk, chunkOffset)).isEqualTo(offset);
                compareSize(s, model, offset);
            }
        }
    }

    private static void compareSize(Striping s, Model model, long size) {
        long chunks = 0;
        for (long chunk = 0; chunk <= model.chunkLengths.size(); chunk++) {
            int expected = model.lengthAt(chunk, size, s.stripeUnit());
            assertThat(s.chunkLength(size, chunk))
                    .as("%s size %d chunk %d", s, size, chunk)
                    .isEqualTo(expected);
            if (expected > 0) {
                chunks = chunk + 1;
            }
        }
        assertThat(s.chunkCount(size)).as("%s size %d", s, size).isEqualTo(chunks);
    }

    @Test
    void randomOffsetsUpToTheEndOfLongGoThereAndBack() {
        Random random = TestSeed.random("StripingTest.randomOffsetsUpToTheEndOfLongGoThereAndBack");
        for (int i = 0; i < 20_000; i++) {
            Striping s = randomStriping(random);
            long offset = random.nextLong() >>> (1 + random.nextInt(63));
            long chunk = s.chunkOf(offset);
            int chunkOffset = s.chunkOffsetOf(offset);
            assertThat(chunkOffset).isBetween(0, s.chunkSize() - 1);
            assertThat(s.fileOffsetOf(chunk, chunkOffset)).isEqualTo(offset);
            // The byte belongs to files longer than its offset, and to no shorter one.
            assertThat(s.chunkLength(offset, chunk)).isEqualTo(chunkOffset);
            if (offset < Long.MAX_VALUE) {
                assertThat(s.chunkLength(offset + 1, chunk)).isEqualTo(chunkOffset + 1);
                assertThat(s.chunkCount(offset + 1)).isGreaterThan(chunk);
            }
            long count = s.chunkCount(offset);
            assertThat(s.chunkLength(offset, count)).isZero();
            if (count > 0) {
                assertThat(s.chunkLength(offset, count - 1)).isPositive();
            }
        }
    }

    private static Striping randomStriping(Random random) {
        int unit = GRAIN << random.nextInt(10);
        return new Striping(unit, 1 + random.nextInt(1024), unit * (1 + random.nextInt(16)));
    }

    @Test
    void piecesCoverARangeWithoutGapOrOverlap() {
        Random random = TestSeed.random("StripingTest.piecesCoverARangeWithoutGapOrOverlap");
        for (int i = 0; i < 2_000; i++) {
            Striping s = randomStriping(random);
            long length = random.nextInt(1 << random.nextInt(23));
            long start =
                    (random.nextLong() >>> (1 + random.nextInt(63))) % (Long.MAX_VALUE - length);
            long[] next = {start};
            s.forEachPiece(
                    start,
                    length,
                    (chunk, chunkOffset, bytes, fileOffset) -> {
                        assertThat(fileOffset).isEqualTo(next[0]);
                        assertThat(bytes).isPositive();
                        assertThat(s.fileOffsetOf(chunk, chunkOffset)).isEqualTo(fileOffset);
                        assertThat(s.fileOffsetOf(chunk, chunkOffset + bytes - 1))
                                .isEqualTo(fileOffset + bytes - 1);
                        next[0] += bytes;
                    });
            assertThat(next[0]).isEqualTo(start + length);
        }
    }

    @Test
    void wholeChunksAreOnePiece() {
        List<Integer> lengths = new ArrayList<>();
        new Striping(GRAIN, 1, 16 * GRAIN)
                .forEachPiece(5, 32L * GRAIN, (chunk, at, length, offset) -> lengths.add(length));
        assertThat(lengths).containsExactly(16 * GRAIN - 5, 16 * GRAIN, 5);
    }

    @Test
    void chunksNoFileCanHaveAreRefused() {
        Striping s = new Striping(GRAIN, 1, GRAIN);
        assertThatThrownBy(() -> s.fileOffsetOf(Long.MAX_VALUE / GRAIN + 1, 0))
                .isInstanceOf(ArithmeticException.class);
    }

    @Test
    void impossibleLayoutsAreNamed() {
        assertThat(FileLayouts.problem(FileLayouts.standard(1))).isNull();
        assertThat(FileLayouts.problem(GRAIN, 1024, 64 << 20)).isNull();
        assertThat(FileLayouts.problem(0, 1, GRAIN)).contains("stripe unit 0");
        assertThat(FileLayouts.problem(GRAIN + 1, 1, GRAIN)).contains("stripe unit");
        assertThat(FileLayouts.problem(2 * GRAIN, 1, 3 * GRAIN)).contains("divides");
        assertThat(FileLayouts.problem(-GRAIN, 1, GRAIN)).contains("stripe unit 4294963200");
        assertThat(FileLayouts.problem(GRAIN, 0, GRAIN)).contains("stripe count 0");
        assertThat(FileLayouts.problem(GRAIN, 1025, GRAIN)).contains("stripe count 1025");
        assertThat(FileLayouts.problem(GRAIN, 1, (64 << 20) + GRAIN)).contains("chunk size");
        assertThat(FileLayouts.problem(GRAIN, 1, 0)).contains("chunk size 0");
        assertThatThrownBy(() -> new Striping(1, 1, 1))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void chunkNumbersOfTheLargestFileAreInts() {
        for (int count : new int[] {1, 3, 1000, 1024}) {
            var layout = FileLayouts.standard(1).toBuilder().setStripeCount(count).build();
            long size = FileLayouts.maxFileSize(layout);
            assertThat(Striping.of(layout).chunkCount(size)).isLessThanOrEqualTo(1L << 31);
        }
    }
}
