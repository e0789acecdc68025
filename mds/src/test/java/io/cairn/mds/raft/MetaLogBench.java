package io.cairn.mds.raft;

import com.google.protobuf.ByteString;
import io.cairn.common.file.FileTree;
import io.cairn.mds.raft.MetaLogConfig.Transport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Measures commits of 150-byte entries by transport, group size and entries in flight. A program,
 * not a test: {@code MetaLogBench <directory on a real disk> [seconds per figure]}.
 */
final class MetaLogBench {
    private MetaLogBench() {}

    public static void main(String[] args) throws Exception {
        Path root = Path.of(args[0]);
        long seconds = args.length > 1 ? Long.parseLong(args[1]) : 5;
        System.out.println("| members | transport | in flight | commits/s | p50 ms | p99 ms |");
        System.out.println("|---|---|---|---|---|---|");
        for (int members : new int[] {1, 3}) {
            for (Transport transport : Transport.values()) {
                Path directory = Files.createTempDirectory(root, "bench");
                run(directory, members, transport, seconds);
                FileTree.delete(directory);
            }
        }
    }

    private static void run(Path directory, int size, Transport transport, long seconds)
            throws Exception {
        List<LogMember> members = new ArrayList<>();
        try {
            for (MetaLogConfig config : LogMember.group(directory, size, transport, 10_000_000)) {
                members.add(new LogMember(config));
            }
            LogMember leader = awaitLeader(members);
            measure(leader, 64, seconds);
            for (int outstanding : new int[] {1, 16, 64, 256}) {
                long[] nanos = measure(leader, outstanding, seconds);
                System.out.printf(
                        "| %d | %s | %d | %d | %.2f | %.2f |%n",
                        size,
                        transport,
                        outstanding,
                        nanos.length / seconds,
                        nanos[nanos.length / 2] / 1e6,
                        nanos[(int) (nanos.length * 0.99)] / 1e6);
            }
        } finally {
            for (LogMember member : members) {
                member.close();
            }
        }
    }

    private static LogMember awaitLeader(List<LogMember> members) throws IOException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (System.nanoTime() - end < 0) {
            for (LogMember member : members) {
                if (member.leads()) {
                    return member;
                }
            }
            Thread.onSpinWait();
        }
        throw new IOException("no leader");
    }

    /** Latencies, sorted. */
    private static long[] measure(LogMember leader, int outstanding, long seconds)
            throws InterruptedException {
        ByteString entry = ByteString.copyFrom(new byte[150]);
        long[] nanos = new long[10_000_000];
        AtomicInteger count = new AtomicInteger();
        Semaphore free = new Semaphore(outstanding);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (System.nanoTime() - end < 0) {
            free.acquire();
            long start = System.nanoTime();
            var _ =
                    leader.log
                            .submit(entry)
                            .whenComplete((reply, failure) -> {
                                nanos[count.getAndIncrement()] = System.nanoTime() - start;
                                free.release();
                            });
        }
        free.acquire(outstanding);
        long[] sorted = Arrays.copyOf(nanos, count.get());
        Arrays.sort(sorted);
        return sorted;
    }
}
