package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.sun.management.ThreadMXBean;
import io.cairn.common.config.Config;
import io.cairn.common.metrics.Meters;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rocks.RocksMemoryConfig;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.FreeInodesEntry;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.store.MetaStateConfig;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code make bench-apply}: what one operation costs the thread that applies the log, by the number
 * of mutations in an entry. Entries as the leader makes them of one session's batches, encoded
 * before the clock runs; with the default caches and memory limits and the files of a first round
 * already there. No network, no Raft log, no leases.
 *
 * <p>Not a test: nothing fails when it is slow. {@code -Dcairn.bench.files}: operations per figure
 * and round; {@code -Dcairn.bench.rounds}: rounds behind the one that warms up.
 */
class ApplyBench {
    private static final int[] BATCHES = {1, 8, 64};
    private static final int PER_DIRECTORY = 1000;
    private static final long TERM = 1;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final int files = Integer.getInteger("cairn.bench.files", 20_000);
    private final int rounds = Integer.getInteger("cairn.bench.rounds", 5);
    private final Map<String, List<Figure>> figures = new LinkedHashMap<>();

    @TempDir Path directory;

    private RocksMemory memory;
    private MetaState state;
    private long session;
    private long number = 1;
    private long index;
    private long seconds = 1_000_000;
    private boolean measuring;

    /** Of one operation. */
    private record Figure(double medianMicros, double cpuMicros, double bytes) {}

    @BeforeEach
    void open() throws IOException {
        memory = new RocksMemory(Config.parse("bench.toml", "", RocksMemoryConfig.class));
        state = MetaState.open(directory, config(memory));
        apply(entry().setFormat(StateRig.format()));
        apply(entry().setSettings(ClusterSettings.newBuilder().setFeatureLevel(Features.CURRENT)));
        session =
                apply(
                                entry().setOpenSession(
                                                StateRig.openEntry(1).toBuilder()
                                                        .setDescription("bench on a machine")
                                                        .setAddress("192.0.2.1:40000")))
                        .getSession();
    }

    @AfterEach
    void close() {
        state.close();
        memory.close();
    }

    @Test
    void measure() {
        for (int round = 0; round <= rounds; round++) {
            measuring = round > 0;
            for (int batch : BATCHES) {
                live(batch, "d" + round + "." + batch + ".");
            }
        }
        print();
    }

    private static MetaStateConfig config(RocksMemory memory) {
        return new MetaStateConfig(
                RocksConfig.defaults(),
                memory,
                Meters.unpublished(),
                reason -> {
                    throw new AssertionError(reason);
                },
                MetaStateConfig.DEFAULT_CACHED_INODES);
    }

    /** The life of files, one step of all of them after another; the first round's stay. */
    private void live(int batch, String prefix) {
        long[] parents = new long[(files + PER_DIRECTORY - 1) / PER_DIRECTORY];
        for (int d = 0; d < parents.length; d++) {
            parents[d] = state.maxInode() + 1;
            apply(mutations(List.of(Ops.mkdir(ROOT_INODE, prefix + d))));
        }
        long first = state.maxInode() + 1;
        run("create", batch, i -> create(parents[i / PER_DIRECTORY], i, first + i, false));
        run("open", batch, i -> Ops.open(first + i));
        run("grow", batch, i -> Ops.grow(first + i, 4096));
        run("release", batch, i -> Ops.release(first + i));
        run("setattr", batch, i -> Ops.setAttr(mode(first + i)));
        if (measuring) {
            run("unlink", batch, i -> Ops.unlink(parents[i / PER_DIRECTORY], name(i)));
            end(batch, first);
        }
        long opened = state.maxInode() + 1;
        run(
                "create and open",
                batch,
                i -> create(parents[i / PER_DIRECTORY], i + files, opened + i, true));
        run("release with size", batch, i -> release(opened + i));
    }

    /** What the leader's reaper logs, always for many at once. */
    private void end(int batch, long first) {
        List<ByteString> freed = new ArrayList<>();
        List<ByteString> reaped = new ArrayList<>();
        int many = BATCHES[BATCHES.length - 1];
        for (int at = 0; at < files; at += many) {
            FreeInodesEntry.Builder free = FreeInodesEntry.newBuilder();
            ReapedEntry.Builder reap = ReapedEntry.newBuilder();
            for (int i = at; i < Math.min(at + many, files); i++) {
                free.addInodes(first + i);
                reap.addInodes(first + i);
            }
            freed.add(entry().setFreeInodes(free).build().toByteString());
            reaped.add(entry().setReaped(reap).build().toByteString());
        }
        if (batch == many) {
            run("free", many, freed);
            run("reaped", many, reaped);
        } else {
            freed.forEach(this::apply);
            reaped.forEach(this::apply);
        }
    }

    private static String name(int file) {
        return "file-%06d".formatted(file);
    }

    private static Mutation.Builder create(long parent, int file, long inode, boolean open) {
        Mutation.Builder made = Ops.create(parent, name(file), 0644, true, open);
        made.getCreateBuilder().setInode(inode);
        return made;
    }

    private static SetAttrOp.Builder mode(long inode) {
        return SetAttrOp.newBuilder().setInode(inode).setMode(Mode.REGULAR | 0600);
    }

    private static Mutation.Builder release(long inode) {
        Mutation.Builder released = Ops.release(inode);
        released.getReleaseBuilder().getGrowBuilder().setSize(4096);
        return released;
    }

    private void run(String what, int batch, IntFunction<Mutation.Builder> operation) {
        List<ByteString> entries = new ArrayList<>();
        List<Mutation.Builder> some = new ArrayList<>();
        for (int i = 0; i < files; i++) {
            some.add(operation.apply(i));
            if (some.size() == batch || i == files - 1) {
                entries.add(mutations(some).build().toByteString());
                some.clear();
            }
        }
        run(what, batch, entries);
    }

    private void run(String what, int batch, List<ByteString> entries) {
        ByteString[] replies = new ByteString[entries.size()];
        double[] nanos = new double[entries.size()];
        long bytes = THREADS.getCurrentThreadAllocatedBytes();
        long cpu = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < replies.length; i++) {
            long start = System.nanoTime();
            replies[i] = state.apply(TERM, ++index, entries.get(i));
            nanos[i] = System.nanoTime() - start;
        }
        double cpuMicros = (THREADS.getCurrentThreadCpuTime() - cpu) / 1e3 / files;
        double allocated = (double) (THREADS.getCurrentThreadAllocatedBytes() - bytes) / files;
        for (ByteString reply : replies) {
            check(reply);
        }
        if (measuring) {
            Arrays.sort(nanos);
            figures.computeIfAbsent(what + " | " + batch, key -> new ArrayList<>())
                    .add(new Figure(nanos[nanos.length / 2] / 1e3 / batch, cpuMicros, allocated));
        }
    }

    private LogEntry.Builder entry() {
        return LogEntry.newBuilder().setTime(Timespec.newBuilder().setSeconds(seconds++));
    }

    /** Acknowledges everything before it. */
    private LogEntry.Builder mutations(List<Mutation.Builder> mutations) {
        MutateRequest.Builder request =
                MutateRequest.newBuilder()
                        .setSession(session)
                        .setFirstNumber(number)
                        .setAckedBelow(number);
        for (Mutation.Builder mutation : mutations) {
            request.addMutations(
                    mutation.setTime(Timespec.newBuilder().setSeconds(seconds++).setNanos(5))
                            .setCredentials(Credentials.newBuilder().setUid(1000).setGid(1000)));
        }
        number += mutations.size();
        return entry().setMutate(request);
    }

    private ApplyReply apply(LogEntry.Builder entry) {
        return apply(entry.build().toByteString());
    }

    private ApplyReply apply(ByteString entry) {
        return check(state.apply(TERM, ++index, entry));
    }

    private static ApplyReply check(ByteString bytes) {
        ApplyReply reply = StateRig.parse(bytes);
        assertThat(reply.getErrno()).as(reply.getDetail()).isZero();
        assertThat(reply.getResultsList()).allMatch(result -> result.getErrno() == 0);
        return reply;
    }

    private void print() {
        StringBuilder table = new StringBuilder();
        table.append(
                "%,d operations per figure, medians of %d rounds%n%n".formatted(files, rounds));
        table.append("| operation | in an entry | median, µs | CPU, µs | allocated, bytes |\n");
        table.append("|---|---:|---:|---:|---:|\n");
        figures.forEach((what, all) ->
                table.append(
                        "| %s | %.1f | %.1f | %,.0f |%n"
                                .formatted(
                                        what,
                                        all.stream()
                                                .mapToDouble(Figure::medianMicros)
                                                .sorted()
                                                .toArray()[all.size() / 2],
                                        all.stream()
                                                .mapToDouble(Figure::cpuMicros)
                                                .sorted()
                                                .toArray()[all.size() / 2],
                                        all.stream()
                                                .mapToDouble(Figure::bytes)
                                                .sorted()
                                                .toArray()[all.size() / 2])));
        System.out.println(table);
    }
}
