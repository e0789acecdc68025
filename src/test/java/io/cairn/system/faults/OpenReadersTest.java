package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Files that are removed while another mount reads them, and leaders that end. */
@Tag("slow")
@Tag("part-4")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OpenReadersTest {
    private static final Duration LIMIT = Duration.ofSeconds(90);
    private static final int SIZE = 6 << 20;

    private final long seed = TestSeed.of("OpenReadersTest");
    private final Random random = new Random(seed);
    private final Cluster cluster = Cluster.temporary("--mds=3");

    @BeforeAll
    void up() {
        cluster.up();
    }

    @AfterAll
    void down() {
        cluster.close();
    }

    private byte[] write(Path file) throws IOException {
        byte[] content = new byte[SIZE];
        random.nextBytes(content);
        Files.write(file, content);
        return content;
    }

    /** Nothing of it may come from the page cache. */
    private Mount reader(String name) {
        return cluster.mount(name, "-o", "direct_io");
    }

    private void awaitInodes(int expected) {
        Awaitility.await("inodes in use")
                .atMost(LIMIT)
                .ignoreExceptionsInstanceOf(AssertionError.class)
                .until(() -> cluster.status().path("inodes_used").asInt() == expected);
    }

    private int inodes() {
        return cluster.status().path("inodes_used").asInt();
    }

    private static void assertReads(FileChannel file, byte[] content) throws IOException {
        ByteBuffer read = ByteBuffer.allocate(content.length);
        file.position(0);
        while (read.hasRemaining() && file.read(read) > 0) {}
        assertThat(read.array()).isEqualTo(content);
    }

    /** Its leader frees what nobody has open, so it would have freed the other one too. */
    private void letTheLeaderFree(int inodes) throws IOException {
        Path passing = cluster.mnt().resolve("passing");
        Files.writeString(passing, "x");
        Files.delete(passing);
        awaitInodes(inodes);
    }

    private String leader() {
        return "mds-" + cluster.status().path("leader").asInt();
    }

    private void awaitLeader() {
        Awaitility.await("a leader")
                .atMost(LIMIT)
                .ignoreExceptionsInstanceOf(AssertionError.class)
                .until(() -> cluster.status().path("leader").asInt() > 0);
    }

    @Test
    void aRemovedFileIsReadOnWhoeverLeadsAndFreedWhenItIsClosed() throws Exception {
        int before = inodes();
        Path file = cluster.mnt().resolve("removed");
        byte[] content = write(file);
        try (Mount second = reader("second");
                FileChannel reads =
                        FileChannel.open(
                                second.mnt().resolve("removed"), StandardOpenOption.READ)) {
            Files.delete(file);
            letTheLeaderFree(before + 1);
            assertReads(reads, content);

            String leader = leader();
            Cluster.kill9(List.of(cluster.process(leader).orElseThrow()));
            awaitLeader();
            letTheLeaderFree(before + 1);
            assertReads(reads, content);
            cluster.start(leader, "mds");

            String next = leader();
            String other =
                    List.of("1", "2", "3").stream()
                            .filter(id -> !next.equals("mds-" + id))
                            .findFirst()
                            .orElseThrow();
            Awaitility.await("it leads")
                    .atMost(LIMIT)
                    .until(() ->
                            Cluster.cairn(
                                                    "mds",
                                                    "transfer-leader",
                                                    other,
                                                    "--dir",
                                                    cluster.state().toString())
                                            .exitCode()
                                    == 0);
            awaitLeader();
            letTheLeaderFree(before + 1);
            assertReads(reads, content);

            List<String> members = List.of("mds-1", "mds-2", "mds-3");
            Cluster.kill9(members.stream().map(m -> cluster.process(m).orElseThrow()).toList());
            members.forEach(m -> cluster.start(m, "mds"));
            awaitLeader();
            letTheLeaderFree(before + 1);
            assertReads(reads, content);

            reads.close();
            awaitInodes(before);
        }
    }

    @Test
    void aFileThatAMountReadAndDidNotCloseGoesWithTheMount() throws Exception {
        int before = inodes();
        Path file = cluster.mnt().resolve("of-the-dead");
        byte[] content = write(file);
        Mount victim = reader("victim");
        FileChannel reads =
                FileChannel.open(victim.mnt().resolve("of-the-dead"), StandardOpenOption.READ);
        Files.delete(file);
        letTheLeaderFree(before + 1);
        assertReads(reads, content);
        victim.die();
        awaitInodes(before);
        victim.kill();
        try {
            reads.close();
        } catch (IOException e) {
            // of a mount that is gone
        }
    }
}
