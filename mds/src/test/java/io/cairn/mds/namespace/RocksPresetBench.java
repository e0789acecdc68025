package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.config.Config;
import io.cairn.common.file.FileTree;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rocks.RocksMemoryConfig;
import io.cairn.common.rocks.RocksPreset;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.store.MetaStateConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code make bench-rocks}: the RocksDB presets under the MDS's own state machine. Entries of the
 * log, as clients' batches make them, are applied one after another by one thread, as Ratis does
 * it, with the default caches and memory limits; names are spread over directories of a thousand.
 * No network and no Raft log: what differs is RocksDB alone.
 *
 * <p>Not a test: nothing fails when it is slow. {@code -Dcairn.bench.files} and {@code
 * -Dcairn.bench.rounds} say how much; the rounds of the presets are interleaved, and the figures
 * are medians.
 */
class RocksPresetBench {
    private static final int BATCH = 64;
    private static final int PER_DIRECTORY = 1000;
    private static final List<String> PHASES = List.of("create", "list", "delete");
    private static final int LISTING_BYTES = 64 << 10;

    private final int files = Integer.getInteger("cairn.bench.files", 200_000);
    private final int rounds = Integer.getInteger("cairn.bench.rounds", 3);

    @TempDir Path directory;

    /** One phase of one round. */
    private record Figure(double perSecond, double writtenMib) {}

    @Test
    void measure() throws Exception {
        Map<String, List<Figure>> figures = new TreeMap<>();
        for (int round = 0; round < rounds; round++) {
            for (RocksPreset preset : RocksPreset.values()) {
                run(preset, figures);
            }
        }
        StringBuilder table = new StringBuilder();
        table.append("%,d files, medians of %d rounds%n%n".formatted(files, rounds));
        table.append(
                "| preset | create/s | list/s | delete/s | written: create, MiB | delete, MiB |\n");
        table.append("|---|---:|---:|---:|---:|---:|\n");
        for (RocksPreset preset : RocksPreset.values()) {
            Figure create = median(figures, preset, "create");
            Figure delete = median(figures, preset, "delete");
            table.append(
                    "| %s | %,.0f | %,.0f | %,.0f | %,.0f | %,.0f |%n"
                            .formatted(
                                    name(preset),
                                    create.perSecond,
                                    median(figures, preset, "list").perSecond,
                                    delete.perSecond,
                                    create.writtenMib,
                                    delete.writtenMib));
        }
        System.out.println(table);
    }

    private void run(RocksPreset preset, Map<String, List<Figure>> figures) throws Exception {
        Path root = directory.resolve("state");
        RocksConfig rocks =
                Config.parse("bench.toml", "preset = '" + name(preset) + "'", RocksConfig.class);
        try (RocksMemory memory =
                new RocksMemory(Config.parse("bench.toml", "", RocksMemoryConfig.class))) {
            MetaStateConfig config =
                    new MetaStateConfig(
                            rocks,
                            memory,
                            Meters.unpublished(),
                            reason -> {
                                throw new AssertionError(reason);
                            },
                            MetaStateConfig.DEFAULT_CACHED_INODES);
            StateRig rig = new StateRig(root, config);
            rig.applyTwice = false;
            assertThat(rig.apply(rig.entry().setFormat(StateRig.format())).getErrno()).isZero();
            long session = rig.openSession(1);
            List<Long> directories = new ArrayList<>();
            for (int i = 0; i < files / PER_DIRECTORY; i++) {
                directories.add(
                        rig.mutate(session, Ops.mkdir(ROOT_INODE, "d" + i)).getAttr().getInode());
            }
            for (String phase : PHASES) {
                long writtenBefore = writtenBytes();
                long start = System.nanoTime();
                int operations =
                        switch (phase) {
                            case "create" -> create(rig, session, directories);
                            case "list" -> list(rig, directories);
                            default -> delete(rig, session, directories);
                        };
                double seconds = (System.nanoTime() - start) / 1e9;
                settle(rig.state);
                figures.computeIfAbsent(name(preset) + phase, key -> new ArrayList<>())
                        .add(
                                new Figure(
                                        operations / seconds,
                                        (writtenBytes() - writtenBefore) / 1048576.0));
            }
            rig.state.close();
        }
        FileTree.delete(root);
    }

    /** Name and directory of the n-th file of a random order that is the same for all presets. */
    private List<Integer> shuffled() {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < files / PER_DIRECTORY * PER_DIRECTORY; i++) {
            order.add(i);
        }
        Collections.shuffle(order, new Random(1));
        return order;
    }

    private int create(StateRig rig, long session, List<Long> directories) {
        List<Mutation.Builder> batch = new ArrayList<>();
        List<Integer> order = shuffled();
        for (int n : order) {
            batch.add(
                    Ops.create(directories.get(n / PER_DIRECTORY), "file-" + n, 0644, true, false));
            send(rig, session, batch, BATCH);
        }
        send(rig, session, batch, 1);
        return order.size();
    }

    private int list(StateRig rig, List<Long> directories) {
        int entries = 0;
        for (long parent : directories) {
            long cursor = 0;
            ReadDirReply reply;
            do {
                reply = rig.state.readDir(parent, cursor, LISTING_BYTES, true);
                entries += reply.getEntriesCount();
                cursor = reply.getEntries(reply.getEntriesCount() - 1).getCursor();
            } while (!reply.getEnd());
        }
        return entries;
    }

    private int delete(StateRig rig, long session, List<Long> directories) {
        List<Mutation.Builder> batch = new ArrayList<>();
        List<Integer> order = shuffled();
        Collections.reverse(order);
        for (int n : order) {
            batch.add(Ops.unlink(directories.get(n / PER_DIRECTORY), "file-" + n));
            send(rig, session, batch, BATCH);
        }
        send(rig, session, batch, 1);
        return order.size();
    }

    /** And what has been unlinked is reaped, as the leader's reaper does it. */
    private static void send(
            StateRig rig, long session, List<Mutation.Builder> batch, int atLeast) {
        if (batch.size() < atLeast) {
            return;
        }
        boolean deletes = batch.getFirst().hasUnlink();
        for (MutationResult result : rig.mutate(session, batch)) {
            assertThat(result.getErrno()).isZero();
        }
        if (deletes) {
            ReapedEntry.Builder reaped = ReapedEntry.newBuilder();
            rig.state.deletions(0, batch.size()).forEach(d -> reaped.addInodes(d.getInode()));
            assertThat(rig.apply(rig.entry().setReaped(reaped)).getErrno()).isZero();
        }
        rig.log.set(rig.log.size() - 1, ByteString.EMPTY); // nobody applies it again
        batch.clear();
    }

    /** Until what the phase left to flushes and compactions is done. */
    private static void settle(MetaState state) throws Exception {
        RocksDatabase database = state.databases().getFirst();
        database.flush();
        Awaitility.await()
                .atMost(Duration.ofMinutes(5))
                .pollInterval(Duration.ofMillis(10))
                .until(() ->
                        database.db().getLongProperty("rocksdb.compaction-pending") == 0
                                && database.db().getLongProperty("rocksdb.num-running-compactions")
                                        == 0);
    }

    /** By this process, to files. */
    private static long writtenBytes() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/io")).stream()
                .filter(line -> line.startsWith("wchar: "))
                .mapToLong(line -> Long.parseLong(line.substring(7)))
                .sum();
    }

    private static Figure median(
            Map<String, List<Figure>> figures, RocksPreset preset, String phase) {
        List<Figure> all = figures.getOrDefault(name(preset) + phase, List.of());
        assertThat(all).hasSizeGreaterThan(0);
        return new Figure(
                all.stream().mapToDouble(Figure::perSecond).sorted().toArray()[all.size() / 2],
                all.stream().mapToDouble(Figure::writtenMib).sorted().toArray()[all.size() / 2]);
    }

    private static String name(RocksPreset preset) {
        return preset.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
