package io.cairn.system.posix;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.nio.file.ExtendedOpenOption;
import io.cairn.common.layout.Striping;
import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Files in directories whose layout was set with {@code setfattr}: one, four and sixteen chunks
 * side by side, and stripe units that are no power of two. {@code -Dcairn.test.steps} sets how many
 * random operations each layout gets.
 */
@ExtendWith(SharedCluster.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StripingTest {
    private static final int STEPS = Integer.getInteger("cairn.test.steps", 50);
    private static final int MIB = 1 << 20;

    /** The longest file of the random operations. */
    private static final int LIMIT = 8 * MIB;

    /** No divisor of any stripe unit: records lie across the borders of all of them. */
    private static final int RECORD = 10_007;

    private static final Duration PATIENCE = Duration.ofSeconds(120);

    private final Cluster cluster;
    private final String mds;
    private final long seed = TestSeed.of("StripingTest");

    StripingTest(Cluster cluster) {
        this.cluster = cluster;
        this.mds = cluster.mds();
    }

    private Path striped(String name, Striping striping) {
        Path directory = cluster.work(name);
        setLayout(directory, text(striping)).ok();
        return directory;
    }

    private static String text(Striping striping) {
        return "stripe_unit=%d stripe_count=%d chunk_size=%d"
                .formatted(striping.stripeUnit(), striping.stripeCount(), striping.chunkSize());
    }

    private static Shell.Result setLayout(Path path, String value) {
        return Shell.run("setfattr", "-h", "-n", "cairn.layout", "-v", value, path.toString());
    }

    private static String layout(Path path) {
        return Shell.run(
                        "getfattr",
                        "--only-values",
                        "--absolute-names",
                        "-n",
                        "cairn.layout",
                        path.toString())
                .ok()
                .out();
    }

    private JsonNode info(Path file) {
        String[] command = {"info", file.toString(), "--mds", mds, "--json"};
        return JsonMapper.shared().readTree(Cluster.cairn(command).ok().out());
    }

    /** Contents after each of many random changes are those of an array in memory. */
    @ParameterizedTest(name = "{1} chunks of {2}, units of {0}")
    @CsvSource({
        "4194304,  1, 4194304", // what a new cluster has
        "  12288,  1,   86016",
        "  65536,  4, 1048576",
        "  20480,  3,  102400",
        "  12288, 16,   61440",
        "   4096, 16,    4096",
        " 262144, 16, 1048576",
    })
    void contentsAreThoseOfAModel(int unit, int count, int chunk) throws IOException {
        Striping striping = new Striping(unit, count, chunk);
        Random random = new Random(seed + striping.hashCode());
        Path directory = striped("model-" + unit + "-" + count, striping);
        Path path = directory.resolve("file");
        StripedModel model = new StripedModel(striping, random, LIMIT);
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw");
                FileChannel direct =
                        FileChannel.open(
                                path, StandardOpenOption.READ, ExtendedOpenOption.DIRECT)) {
            for (int i = 0; i < STEPS; i++) {
                String step = model.step(file);
                String what = text(striping) + ", seed " + seed + ", step " + i + ": " + step;
                model.checkSomewhere(what, file.getChannel());
                model.checkBlocksSomewhere(what, direct);
            }
            model.checkAll("all, direct", direct);
        }
        assertThat(info(path).path("chunk_count").asLong())
                .isEqualTo(striping.chunkCount(model.contents().length));
        Files.delete(path);
    }

    /** What `cairn info` computes from the map is where the data servers have the data. */
    @Test
    void chunksLieInSeveralPlacementGroups() throws IOException {
        Path directory = striped("spread", new Striping(65_536, 16, MIB));
        Path wide = Files.write(directory.resolve("wide"), new byte[16 * 65_536]);
        Path narrow = Files.write(cluster.work("narrow").resolve("narrow"), new byte[16 * 65_536]);

        JsonNode chunks = info(wide).path("chunks");
        assertThat(chunks.size()).isEqualTo(16);
        assertThat(chunks.valueStream().map(c -> c.path("pg").asString()).distinct().count())
                .as("placement groups of %s", chunks)
                .isGreaterThan(8);
        assertThat(chunks.valueStream())
                .allSatisfy(chunk -> assertThat(chunk.path("replicas").size()).isEqualTo(3));
        assertThat(info(narrow).path("chunks").size()).as("chunks without stripes").isEqualTo(1);
    }

    /** A file keeps the layout it was made with; new ones take their directory's. */
    @Test
    void layoutsAreInherited() throws IOException {
        Path directory = striped("inherited", new Striping(20_480, 3, 102_400));
        Path file = Files.write(directory.resolve("file"), new byte[1]);
        Path below = Files.createDirectory(directory.resolve("below"));
        setLayout(directory, "stripe_count=16").ok();

        String old = "pool=default stripe_unit=20480 stripe_count=3 chunk_size=102400";
        assertThat(layout(file)).isEqualTo(old);
        assertThat(layout(below)).isEqualTo(old);
        assertThat(layout(Files.write(below.resolve("file"), new byte[1]))).isEqualTo(old);
        assertThat(layout(Files.createFile(directory.resolve("later"))))
                .isEqualTo(old.replace("count=3", "count=16"));
    }

    @Test
    void wrongLayoutsAreRefusedAndTheLogSaysWhy() throws IOException {
        Path directory = striped("refused", new Striping(65_536, 4, MIB));
        String before = layout(directory);
        String[][] wrong = {
            {"stripe_unit=1000", "stripe unit 1000 is not a multiple of 4096"},
            {"stripe_unit=0", "stripe unit 0 is not"},
            {"stripe_unit=-4096", "stripe unit 4294963200 is not"},
            {"stripe_unit=12288", "that divides the chunk size 1048576"},
            {"stripe_unit=2097152", "stripe unit 2097152 is not"},
            {"stripe_count=0", "stripe count 0 is not from 1 to 1024"},
            {"stripe_count=1025", "stripe count 1025 is not from 1 to 1024"},
            {"chunk_size=134217728", "chunk size 134217728 is not a multiple of 4096"},
            {"stripe_count=four", "'four' in a layout"},
            {"stripes=4", "layout field 'stripes=4'"},
            {"pool=none", "'none' in a layout"},
        };
        for (String[] value : wrong) {
            Shell.Result refused = setLayout(directory, value[0]);
            assertThat(refused.exitCode()).as(value[0]).isNotZero();
            assertThat(refused.err()).as(value[0]).contains("Invalid argument");
            Awaitility.await("the log says: " + value[1])
                    .atMost(PATIENCE)
                    .until(() -> cluster.logs().contains(value[1]));
        }
        assertThat(layout(directory)).isEqualTo(before);

        Path file = Files.createFile(directory.resolve("file"));
        setLayout(file, "stripe_count=2").ok(); // empty yet
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            assertThat(setLayout(file, "stripe_count=3").err()).contains("busy");
            open.write(1);
        }
        assertThat(setLayout(file, "stripe_count=3").err()).contains("not empty");
        Path link = Files.createSymbolicLink(directory.resolve("link"), file);
        assertThat(setLayout(link, "stripe_count=3").err()).contains("not permitted");
        assertThat(layout(file)).contains("stripe_count=2");
    }

    /** Cut to a hole with two ends; another file is removed with all its chunks. */
    @Test
    void truncationAndDeletion() throws IOException {
        Path directory = striped("space", new Striping(12_288, 16, 61_440));
        Path path = directory.resolve("file");
        int size = 8 * MIB;
        byte[] ones = new byte[size];
        Arrays.fill(ones, (byte) 1);
        Files.write(path, ones);

        int cut = 3 * 12_288 + 5; // into the fourth chunk of the first set
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(cut);
            file.setLength(size);
            file.seek(size - 1);
            file.write(2);
        }
        byte[] expected = Arrays.copyOf(Arrays.copyOf(ones, cut), size);
        expected[size - 1] = 2;
        assertThat(Arrays.equals(Files.readAllBytes(path), expected)).as("a hole").isTrue();

        Path second = Files.write(directory.resolve("second"), ones);
        Files.delete(second);
        Awaitility.await("no deletions are pending")
                .atMost(PATIENCE)
                .until(() -> cluster.status().path("deletion_backlog_inodes").asInt() == 0);
        assertThat(Arrays.equals(Files.readAllBytes(path), expected)).as("the other").isTrue();
    }

    /**
     * Four writers on two mounts, each with every fourth record: all of them write to every chunk,
     * and to the same blocks.
     */
    @Test
    void writersOfOneFileDoNotDisturbEachOther() throws Exception {
        int writers = 4;
        int records = 400;
        Path here = striped("parallel", new Striping(20_480, 16, 102_400)).resolve("file");
        Files.createFile(here);
        byte[] expected = new byte[records * RECORD];
        new Random(seed).nextBytes(expected);
        try (Mount second = cluster.mount("parallel-writers");
                ExecutorService threads = Executors.newFixedThreadPool(writers)) {
            Path there = second.mnt().resolve(cluster.mnt().relativize(here));
            List<Callable<Void>> tasks = new ArrayList<>();
            for (int w = 0; w < writers; w++) {
                int writer = w;
                Path path = w % 2 == 0 ? here : there;
                tasks.add(() -> {
                    List<Integer> mine =
                            new ArrayList<>(
                                    IntStream.range(0, records)
                                            .filter(r -> r % writers == writer)
                                            .boxed()
                                            .toList());
                    Collections.shuffle(mine, new Random(seed + writer));
                    writeRecords(path, expected, mine);
                    return null;
                });
            }
            for (Future<Void> done : threads.invokeAll(tasks)) {
                done.get();
            }
            for (Path path : List.of(here, there)) {
                int wrong = Arrays.mismatch(Files.readAllBytes(path), expected);
                assertThat(wrong).as("seed %d: first wrong byte of %s", seed, path).isEqualTo(-1);
            }
        }
    }

    private static void writeRecords(Path path, byte[] contents, List<Integer> records)
            throws IOException {
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.WRITE)) {
            for (int record : records) {
                long at = (long) record * RECORD;
                ByteBuffer bytes = ByteBuffer.wrap(contents, (int) at, RECORD);
                while (bytes.hasRemaining()) {
                    at += file.write(bytes, at);
                }
            }
        }
    }
}
