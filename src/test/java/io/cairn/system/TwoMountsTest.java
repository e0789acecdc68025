package io.cairn.system;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Two clients of one cluster, each a mount: what one does is seen and respected by the other.
 * {@code -Dcairn.test.rounds} sets how often each interleaving is tried.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TwoMountsTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.rounds", 40);
    private static final int MIB = 1 << 20;

    private final Cluster cluster = Cluster.temporary();
    private final long seed = Long.getLong("cairn.test.seed", System.nanoTime());

    @BeforeAll
    void up() {
        System.out.println("TwoMountsTest: -Dcairn.test.seed=" + seed);
        cluster.up();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    @Test
    void eachSeesWhatTheOtherClosedAndAnUnmountedOneIsGoneAtOnce() throws IOException {
        try (Mount second = cluster.mount("second")) {
            Path here = cluster.mnt().resolve("seen");
            Path there = second.mnt().resolve("seen");
            Files.writeString(here, "from the first");
            assertThat(there).hasContent("from the first");
            Files.writeString(there, "from the second mount");
            assertThat(here).hasContent("from the second mount");
            assertThat(cluster.status().path("mounts").findValuesAsString("description"))
                    .hasSize(2)
                    .anyMatch(d -> d.contains(":" + second.mnt() + ", process "));
        }
        assertThat(cluster.status().path("mounts").size()).as("mounts").isEqualTo(1);
    }

    /** The one who writes has heard of no cut: the data servers tell it. */
    @Test
    void whatIsWrittenAfterTheOtherHasTruncatedStays() throws IOException {
        Random random = new Random(seed);
        try (Mount second = cluster.mount("writing")) {
            Path here = cluster.mnt().resolve("cut");
            Path there = second.mnt().resolve("cut");
            Files.createFile(here);
            try (RandomAccessFile writer = new RandomAccessFile(there.toFile(), "rw");
                    RandomAccessFile cutter = new RandomAccessFile(here.toFile(), "rw")) {
                for (int round = 0; round < ROUNDS; round++) {
                    writer.setLength(0);
                    byte[] before = bytes(random, 1 + random.nextInt(256 << 10));
                    write(writer, 0, before);
                    writer.getFD().sync();
                    int cut = random.nextBoolean() ? 0 : random.nextInt(before.length);
                    byte[] after = bytes(random, 1 + random.nextInt(128 << 10));
                    int at = random.nextBoolean() ? 0 : random.nextInt(256 << 10);

                    cutter.setLength(cut);
                    write(writer, at, after);
                    writer.getFD().sync();

                    byte[] expected =
                            Arrays.copyOf(
                                    Arrays.copyOf(before, cut), Math.max(cut, at + after.length));
                    System.arraycopy(after, 0, expected, at, after.length);
                    String what =
                            "round %d: %d bytes, cut to %d, then %d at %d"
                                    .formatted(round, before.length, cut, after.length, at);
                    assertSame(what + ", where they were cut", Files.readAllBytes(here), expected);
                    assertSame(
                            what + ", where they were written",
                            Files.readAllBytes(there),
                            expected);
                }
            }
        }
    }

    /**
     * What the other wrote before was cut, whether the MDS knew of it or not: no size published
     * later brings it back.
     */
    @Test
    void aSizeFromBeforeTheCutIsNotPublishedLater() throws IOException {
        Random random = new Random(seed);
        Path here = Files.createDirectory(cluster.mnt().resolve("sizes"));
        int[] sizes = new int[ROUNDS];
        byte[] data = bytes(random, MIB);
        try (Mount second = cluster.mount("closing")) {
            for (int round = 0; round < ROUNDS; round++) {
                Path file = here.resolve("f" + round);
                sizes[round] = random.nextBoolean() ? 0 : random.nextInt(MIB);
                Path there = second.mnt().resolve("sizes/f" + round);
                try (RandomAccessFile writer = new RandomAccessFile(there.toFile(), "rw")) {
                    if (random.nextBoolean()) {
                        writer.write(data, 0, 1 + random.nextInt(MIB));
                        writer.getFD().sync();
                    }
                    write(writer, 0, data);
                    try (RandomAccessFile cutter = new RandomAccessFile(file.toFile(), "rw")) {
                        cutter.setLength(sizes[round]);
                    }
                }
                int size = sizes[round];
                Awaitility.await("the size that the kernel of the other mount is told")
                        .atMost(Duration.ofSeconds(20))
                        .until(() -> Files.size(there) == size);
            }
        } // and now everything it had to publish is published
        for (int round = 0; round < ROUNDS; round++) {
            assertSame(
                    "round %d, cut to %d".formatted(round, sizes[round]),
                    Files.readAllBytes(here.resolve("f" + round)),
                    Arrays.copyOf(data, sizes[round]));
        }
    }

    private static void write(RandomAccessFile file, long at, byte[] bytes) throws IOException {
        file.seek(at);
        file.write(bytes);
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (1 + random.nextInt(255)); // zeros are holes
        }
        return bytes;
    }

    private static void assertSame(String what, byte[] actual, byte[] expected) {
        int differ = Arrays.mismatch(actual, expected);
        if (differ >= 0) {
            throw new AssertionError(
                    what
                            + ": %d bytes instead of %d, the first that differs is %d"
                                    .formatted(actual.length, expected.length, differ));
        }
    }
}
