package io.cairn.system.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Two clients of one cluster, each a mount: what one does is seen and respected by the other.
 * {@code -Dcairn.test.rounds} sets how often each interleaving is tried.
 */
@Tag("part-8")
@ExtendWith(SharedCluster.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TwoMountsTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.rounds", 40);
    private static final int MIB = 1 << 20;

    /** Of each writer that appends. */
    private static final int RECORDS = 100;

    private static final int CHUNK = 4 * MIB;

    private final Cluster cluster;
    private final long seed = TestSeed.of("TwoMountsTest");

    TwoMountsTest(Cluster cluster) {
        this.cluster = cluster;
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

    /** The mount has read ahead of the reader, which then goes on in a file that was changed. */
    @Test
    void whatWasReadAheadIsNotReadAfterAnOpenOrAWriteThatMadeItOld() throws IOException {
        Random random = new Random(seed);
        byte[] content = bytes(random, 24 * MIB);
        try (Mount second = cluster.mount("ahead")) {
            Path here = cluster.mnt().resolve("in-order");
            Path there = second.mnt().resolve("in-order");
            for (int round = 0; round < Math.max(2, ROUNDS / 10); round++) {
                Files.write(here, content);
                try (RandomAccessFile reader = new RandomAccessFile(there.toFile(), "r")) {
                    assertThat(next(reader, 8 * MIB)).isEqualTo(Arrays.copyOf(content, 8 * MIB));
                    random.nextBytes(content);
                    Files.write(here, content);
                    assertThat(there).hasBinaryContent(content);
                    assertThat(next(reader, 8 * MIB))
                            .isEqualTo(Arrays.copyOfRange(content, 8 * MIB, 16 * MIB));
                    byte[] own = bytes(random, MIB);
                    int at = 18 * MIB + random.nextInt(4096);
                    try (RandomAccessFile writer = new RandomAccessFile(there.toFile(), "rw")) {
                        write(writer, at, own);
                    }
                    System.arraycopy(own, 0, content, at, MIB);
                    assertThat(next(reader, 8 * MIB))
                            .isEqualTo(Arrays.copyOfRange(content, 16 * MIB, 24 * MIB));
                }
                assertThat(here).hasBinaryContent(content);
            }
        }
    }

    private static byte[] next(RandomAccessFile reader, int length) throws IOException {
        byte[] read = new byte[length];
        reader.readFully(read);
        return read;
    }

    /** Linux walks a path again once where the file that it found is gone. */
    private static final String REPLACED =
            """
            import os, sys, threading
            here, there = sys.argv[1:]
            done = threading.Event()
            def replace(me):
                n = 0
                while not done.is_set():
                    new = f'{here}/new-{me}'
                    with open(new, 'w') as f:
                        f.write(f'{me} {n}')
                    os.rename(new, here + '/always')
                    n += 1
            open(here + '/always', 'w').close()
            threads = [threading.Thread(target=replace, args=(me,)) for me in range(3)]
            for t in threads:
                t.start()
            try:
                for i in range(1000):
                    with open(there + '/always') as f:
                        f.read()
                    os.stat(there + '/always')
                    os.utime(there + '/always')
            finally:
                done.set()
                for t in threads:
                    t.join()
            """;

    @Test
    void aNameThatIsGivenOneFileAfterAnotherIsAlwaysThere() throws IOException {
        try (Mount second = cluster.mount("replaced")) {
            Shell.run("python3", "-c", REPLACED, "" + cluster.mnt(), "" + second.mnt()).ok();
        }
    }

    /** Removed or replaced, here or there; the attributes the kernel has stand for a second. */
    private static final String REMOVED =
            """
            import os, sys
            here, there = sys.argv[1:]
            for how in 'rmdir', 'rename':
                for other in here, there:
                    os.mkdir(here + '/d')
                    os.mkdir(here + '/e')
                    d = os.open(here + '/d', os.O_RDONLY)
                    before = os.fstat(d)
                    if how == 'rmdir':
                        os.rmdir(other + '/d')
                        os.rmdir(other + '/e')
                    else:
                        os.rename(other + '/e', other + '/d')
                    while os.fstat(d).st_nlink != 0:
                        pass
                    assert os.fstat(d).st_ino == before.st_ino
                    os.fchmod(d, 0o701)
                    assert os.fstat(d).st_mode & 0o777 == 0o701, how + other
                    assert os.listdir(d) == [], how + other
                    for make in (lambda: os.mkdir('x', dir_fd=d),
                                 lambda: os.open('x', os.O_CREAT | os.O_WRONLY, dir_fd=d)):
                        try:
                            make()
                            assert False, 'a name was made in a removed directory'
                        except FileNotFoundError:
                            pass
                    os.close(d)
                    if how == 'rename':
                        os.rmdir(here + '/d')
            """;

    @Test
    @Tag("native-binding")
    void aRemovedDirectoryStaysUsableWhileItIsOpen() {
        try (Mount second = cluster.mount("second")) {
            Shell.run("python3", "-c", REMOVED, cluster.mnt().toString(), second.mnt().toString())
                    .ok();
        }
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
     * The appender holds the right all the time; nothing but the MDS tells it what the other wrote.
     */
    @Test
    void whatTheOtherHasWrittenWithoutOAppendAndSyncedIsNotOverwrittenByAppends()
            throws IOException {
        Random random = new Random(seed);
        try (Mount second = cluster.mount("second")) {
            for (int round = 0; round < ROUNDS; round++) {
                Path here = cluster.mnt().resolve("beside-" + round);
                Path there = second.mnt().resolve("beside-" + round);
                StringBuilder expected = new StringBuilder();
                try (FileOutputStream appends = new FileOutputStream(here.toFile(), true)) {
                    append(appends, expected, "made;", random.nextInt(3));
                    try (RandomAccessFile other = new RandomAccessFile(there.toFile(), "rw")) {
                        for (int i = 0; i < 6; i++) {
                            String text = "other " + i + ";";
                            other.seek(expected.length());
                            other.write(text.getBytes(StandardCharsets.UTF_8));
                            other.getFD().sync();
                            expected.append(text);
                            append(appends, expected, "append;", random.nextInt(3));
                        }
                    }
                }
                assertThat(Files.readString(there)).isEqualTo(expected.toString());
                Files.delete(there);
            }
        }
    }

    /** Synced, as the other writes at the end that it believes in. */
    private static void append(FileOutputStream to, StringBuilder expected, String text, int times)
            throws IOException {
        for (int i = 0; i < times; i++) {
            to.write(text.getBytes(StandardCharsets.UTF_8));
            expected.append(text);
        }
        to.getFD().sync();
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
            Path there = second.mnt().resolve("sizes");
            for (int round = 0; round < ROUNDS; round++) {
                String name = "f" + round;
                sizes[round] = random.nextBoolean() ? 0 : random.nextInt(MIB);
                try (var writer = new RandomAccessFile(there.resolve(name).toFile(), "rw")) {
                    if (random.nextBoolean()) {
                        writer.write(data, 0, 1 + random.nextInt(MIB));
                        writer.getFD().sync();
                    }
                    write(writer, 0, data);
                    try (var cutter = new RandomAccessFile(here.resolve(name).toFile(), "rw")) {
                        cutter.setLength(sizes[round]);
                    }
                }
            }
            for (int round = 0; round < ROUNDS; round++) {
                Path file = there.resolve("f" + round);
                int size = sizes[round];
                Awaitility.await("the size that the kernel of the other mount is told")
                        .atMost(Duration.ofSeconds(20))
                        .until(() -> Files.size(file) == size);
            }
        } // and now everything it had to publish is published
        for (int round = 0; round < ROUNDS; round++) {
            assertSame(
                    "round %d, cut to %d".formatted(round, sizes[round]),
                    Files.readAllBytes(here.resolve("f" + round)),
                    Arrays.copyOf(data, sizes[round]));
        }
    }

    /**
     * Over the end of a chunk, so in two pieces, which are executed by different data servers. It
     * is one request of the kernel, through libfuse 2 too.
     */
    @Test
    void aWriteBesideATruncateIsThereAsAWholeOrNotAtAll() throws Exception {
        Random random = new Random(seed);
        int half = 32 << 10;
        int end = CHUNK + half;
        int stayed = 0;
        try (Mount second = cluster.mount("racing");
                ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Path here = cluster.mnt().resolve("raced");
            Files.createFile(here);
            try (var writer = new RandomAccessFile(second.mnt().resolve("raced").toFile(), "rw");
                    var cutter = new RandomAccessFile(here.toFile(), "rw")) {
                for (int round = 0; round < ROUNDS; round++) {
                    write(writer, end, bytes(random, half));
                    writer.getFD().sync();
                    byte[] data = bytes(random, 2 * half);
                    CyclicBarrier start = new CyclicBarrier(2);
                    Future<?> cut =
                            thread.submit(() -> {
                                start.await();
                                cutter.setLength(0);
                                return null;
                            });
                    start.await();
                    write(writer, CHUNK - half, data);
                    writer.getFD().sync();
                    cut.get();
                    byte[] actual = Files.readAllBytes(here);
                    byte[] expected = new byte[actual.length == 0 ? 0 : end];
                    if (expected.length > 0) {
                        System.arraycopy(data, 0, expected, CHUNK - half, data.length);
                        stayed++;
                    }
                    assertSame("round " + round, actual, expected);
                }
            }
        }
        System.out.printf("%d of %d writes came after the truncate%n", stayed, ROUNDS);
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

    /** Each record is there once and whole, those of one writer in their order. */
    @Test
    void whatSeveralAppendStandsOneBehindTheOther() throws Exception {
        Random random = new Random(seed);
        try (Mount second = cluster.mount("appending")) {
            for (int round = 0; round < Math.max(2, ROUNDS / 10); round++) {
                int writers = round % 2 == 0 ? 2 : 4;
                String name = "log" + round;
                List<Callable<Void>> tasks = new ArrayList<>();
                for (int w = 0; w < writers; w++) {
                    Path mount = w % 2 == 0 ? cluster.mnt() : second.mnt();
                    tasks.add(appender(mount.resolve(name), w, random.nextLong()));
                }
                try (ExecutorService threads = Executors.newFixedThreadPool(writers)) {
                    for (Future<Void> done : threads.invokeAll(tasks)) {
                        done.get();
                    }
                }
                List<String> lines = Files.readAllLines(cluster.mnt().resolve(name));
                assertThat(lines).as("round %d", round).hasSize(writers * RECORDS);
                for (int w = 0; w < writers; w++) {
                    String start = w + " ";
                    assertThat(lines.stream().filter(l -> l.startsWith(start)))
                            .as("round %d, writer %d", round, w)
                            .isEqualTo(records(w));
                }
            }
        }
    }

    private static List<String> records(int writer) {
        return IntStream.range(0, RECORDS)
                .mapToObj(i -> writer + " " + i + " " + "x".repeat(37 * (i + writer) % 911))
                .toList();
    }

    private static Callable<Void> appender(Path file, int writer, long seed) {
        return () -> {
            Random random = new Random(seed);
            try (FileOutputStream log = new FileOutputStream(file.toFile(), true)) {
                for (String record : records(writer)) {
                    log.write((record + "\n").getBytes(StandardCharsets.UTF_8));
                    if (random.nextInt(10) == 0) {
                        log.getFD().sync();
                    }
                }
            }
            return null;
        };
    }
}
