package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.DiskErrors;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * One of three disks takes much longer to sync than the others, while programs write: it is told
 * of, leaves the in-sync sets, and comes back when it has rested.
 */
@Tag("slow")
@Tag("part-8")
@TestInstance(Lifecycle.PER_CLASS)
class SlowDiskTest {
    private final Cluster cluster = Cluster.temporary("--processes");
    private final List<Process> writers = new ArrayList<>();
    private DiskErrors errors;

    @BeforeAll
    void up() {
        cluster.layOut();
        cluster.configure(
                "mds-1",
                c ->
                        c.replace(
                                "[data_servers]\n",
                                "[data_servers]\nslow_disk_interval = \"18s\"\n"));
        errors = DiskErrors.in(cluster.base());
        cluster.environment("LD_PRELOAD", errors.library().toString());
        cluster.up();
    }

    @AfterAll
    void down() {
        writers.forEach(Process::destroyForcibly);
        cluster.close();
    }

    @Test
    void aSlowDiskLeavesAndComesBack() throws IOException {
        for (int i = 0; i < 4; i++) {
            write(cluster.mnt().resolve("file" + i));
        }
        Path disk = cluster.state().resolve("data-1/disk");
        errors.slow(DiskErrors.Call.SYNC, disk.resolve("wal"));
        await(
                "it is told of",
                () ->
                        warnings().stream()
                                .anyMatch(w ->
                                        w.contains(
                                                        disk.resolve("data")
                                                                + ") is slow: its syncs of the log")
                                                && w.contains("check the device")));
        await("it has left", () -> is("slow", of(disk)) && of(disk).path("in_sync").asInt() == 0);
        assertThat(of(disk).path("cause").asString()).contains("left out of in-sync sets");
        assertThat(writers).allMatch(Process::isAlive);

        errors.none();
        await(
                "it is back",
                () ->
                        is("serving", of(disk))
                                && of(disk).path("in_sync").asInt()
                                        == of(disk).path("replicas").asInt());
        await("nothing is told", () -> warnings().isEmpty());
        assertThat(writers).allMatch(Process::isAlive);
    }

    /** From now on a program writes it, synced, until that fails. */
    private void write(Path file) throws IOException {
        String line =
                "while dd if=/dev/zero of='%s' bs=4k count=8 oflag=sync conv=notrunc status=none;"
                        + " do :; done";
        writers.add(
                new ProcessBuilder("bash", "-c", line.formatted(file))
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start());
    }

    private static boolean is(String state, JsonNode disk) {
        return disk.path("state").asString().equals(state);
    }

    private JsonNode of(Path disk) {
        String dir = cluster.state().toString();
        String said = Cluster.cairn("disk", "ls", "--json", "--dir", dir).ok().out();
        for (JsonNode node : JsonMapper.shared().readTree(said)) {
            if (node.path("data").asString().equals(disk.resolve("data").toString())) {
                return node;
            }
        }
        throw new AssertionError(said);
    }

    private List<String> warnings() {
        return cluster.status().path("warnings").valueStream().map(JsonNode::asString).toList();
    }

    private static void await(String what, Callable<Boolean> condition) {
        Awaitility.await(what).atMost(Duration.ofMinutes(4)).until(condition);
    }
}
