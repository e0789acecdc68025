package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;

import com.google.protobuf.ByteString;
import io.cairn.common.file.FileTree;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Measures lookups beside commits by the number of reading threads, with a cache that all lookups
 * hit, with one that nine of ten hit and with a cache of one entry. A program, not a test: {@code
 * MetaCacheBench <directory> [files] [seconds per figure]}.
 */
final class MetaCacheBench {
    private static final int PER_DIRECTORY = 1000;
    private static final int PER_ENTRY = 500;

    private final StateRig rig;
    private final long session;
    private final long[] directories;
    private final ByteString[] names = new ByteString[PER_DIRECTORY];
    private final long[] inodes;

    private MetaCacheBench(StateRig rig, int files) {
        this.rig = rig;
        rig.applyTwice = false;
        rig.apply(rig.entry().setFormat(StateRig.format()));
        session = rig.openSession(1);
        directories = new long[files / PER_DIRECTORY];
        inodes = new long[files];
        for (int i = 0; i < PER_DIRECTORY; i++) {
            names[i] = StateRig.name("file-%06d".formatted(i));
        }
        for (int d = 0; d < directories.length; d++) {
            directories[d] =
                    rig.mutate(session, Ops.mkdir(ROOT_INODE, "d" + d)).getAttr().getInode();
            for (int first = 0; first < PER_DIRECTORY; first += PER_ENTRY) {
                List<Mutation.Builder> made = new ArrayList<>();
                for (int i = first; i < first + PER_ENTRY; i++) {
                    made.add(Ops.create(directories[d], names[i].toStringUtf8()));
                }
                var results = rig.mutate(session, made);
                for (int i = 0; i < PER_ENTRY; i++) {
                    inodes[d * PER_DIRECTORY + first + i] = results.get(i).getAttr().getInode();
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int files = args.length > 1 ? Integer.parseInt(args[1]) : 200_000;
        long seconds = args.length > 2 ? Long.parseLong(args[2]) : 5;
        System.out.println("| cache | readers | lookups/s | commits/s beside them |");
        System.out.println("|---|---|---|---|");
        for (int cached : new int[] {2 * files, files / 10 * 9, 1}) {
            Path directory = Files.createTempDirectory(Path.of(args[0]), "bench");
            StateRig rig = new StateRig(directory, cached);
            try {
                MetaCacheBench bench = new MetaCacheBench(rig, files);
                bench.measure(1, seconds, false);
                for (boolean writer : new boolean[] {false, true}) {
                    for (int readers : new int[] {1, 2, 4}) {
                        long[] done = bench.measure(readers, seconds, writer);
                        System.out.printf(
                                "| %d | %d | %d | %s |%n",
                                cached,
                                readers,
                                done[0] / seconds,
                                writer ? String.valueOf(done[1] / seconds) : "none made");
                    }
                }
            } finally {
                rig.state.close();
                FileTree.delete(directory);
            }
        }
    }

    private long[] measure(int readers, long seconds, boolean writer) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        long commits = 0;
        long lookups = 0;
        try (ExecutorService threads = Executors.newFixedThreadPool(readers)) {
            List<Future<Long>> running = new ArrayList<>();
            for (int i = 0; i < readers; i++) {
                SplittableRandom random = new SplittableRandom(i);
                running.add(threads.submit(() -> read(random, end)));
            }
            SplittableRandom random = new SplittableRandom(42);
            while (writer && System.nanoTime() - end < 0) {
                write(random);
                commits++;
            }
            for (Future<Long> reader : running) {
                lookups += reader.get();
            }
        }
        return new long[] {lookups, commits};
    }

    /** One inode, as a mutation of its own. */
    private void write(SplittableRandom random) {
        Timespec time = Timespec.newBuilder().setSeconds(random.nextInt(1 << 30)).build();
        long inode = inodes[random.nextInt(inodes.length)];
        rig.mutate(session, Ops.setAttr(SetAttrOp.newBuilder().setInode(inode).setAtime(time)));
    }

    private long read(SplittableRandom random, long end) {
        long done = 0;
        while (System.nanoTime() - end < 0) {
            for (int i = 0; i < 64; i++) {
                int file = random.nextInt(inodes.length);
                long directory = directories[file / PER_DIRECTORY];
                if (rig.state.lookup(directory, names[file % PER_DIRECTORY]).getInode()
                        != inodes[file]) {
                    throw new AssertionError("another file");
                }
                done++;
            }
        }
        return done;
    }
}
