package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.StateRig.name;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.seed.TestSeed;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Who has seen an entry's effect by one call sees it by every later call, of whatever kind, while
 * entries are being applied.
 */
class ReadOrderTest {
    private static final int ENTRIES = 4000;

    @TempDir Path directory;

    @Test
    void readsNeverGoBackwards() throws Exception {
        long seed = TestSeed.of("ReadOrderTest");
        for (int cache : List.of(1, 1000)) {
            entriesAndReaders(directory.resolve("cache-" + cache), cache, new Random(seed));
        }
    }

    private static void entriesAndReaders(Path at, int cache, Random random) throws Exception {
        try (StateRig rig = new StateRig(at, cache)) {
            rig.applyTwice = false;
            rig.apply(rig.entry().setFormat(StateRig.format()));
            Versions versions = new Versions(rig);
            AtomicBoolean stop = new AtomicBoolean();
            try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
                List<Future<Long>> readers = new ArrayList<>();
                for (int i = 0; i < 3; i++) {
                    Random own = new Random(random.nextLong());
                    readers.add(threads.submit(() -> versions.read(own, stop)));
                }
                try {
                    for (int v = 1; v <= ENTRIES; v++) {
                        versions.write(v);
                        if (readers.stream().anyMatch(Future::isDone)) {
                            break; // one has found a fault
                        }
                    }
                } finally {
                    stop.set(true);
                }
                for (Future<Long> reader : readers) {
                    assertThat(reader.get()).isPositive();
                }
            }
        }
    }

    /** A file and its directory of which everything that can be read says the same version. */
    private static final class Versions {
        private final StateRig rig;
        private final long session;
        private final long d;
        private final long f;
        private final long bytesAtFirst;

        Versions(StateRig rig) {
            this.rig = rig;
            session = rig.openSession(1);
            d = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
            f = rig.mutate(session, Ops.create(d, "f")).getAttr().getInode();
            bytesAtFirst = rig.state.counters().bytesUsed();
            write(0);
        }

        /** In one entry. */
        void write(int v) {
            rig.mutate(
                    session,
                    List.of(
                            Ops.setXattr(f, "user.version", ByteString.copyFrom(bytes(v)), 0),
                            stamped(d, v),
                            stamped(f, v),
                            Ops.grow(f, v)));
        }

        private static Mutation.Builder stamped(long inode, int v) {
            Timespec time = Timespec.newBuilder().setSeconds(v).build();
            return Ops.setAttr(SetAttrOp.newBuilder().setInode(inode).setAtime(time));
        }

        private static byte[] bytes(int v) {
            return ByteBuffer.allocate(4).putInt(v).array();
        }

        long read(Random random, AtomicBoolean stop) {
            long seen = 0;
            String before = "nothing";
            long reads = 0;
            do {
                int how = random.nextInt(7);
                String what =
                        List.of(
                                        "getattr of the file",
                                        "getattr of the directory",
                                        "lookup",
                                        "listing",
                                        "getxattr",
                                        "lookup of ..",
                                        "statfs")
                                .get(how);
                long version = read(how);
                assertThat(version).as(what + " after " + before).isGreaterThanOrEqualTo(seen);
                if (version > seen) {
                    before = what;
                    seen = version;
                }
                reads++;
            } while (!stop.get());
            return reads;
        }

        private long read(int how) {
            return switch (how) {
                case 0 -> ofFile(rig.state.getAttr(f));
                case 1 -> rig.state.getAttr(d).getAtime().getSeconds();
                case 2 -> ofFile(rig.state.lookup(d, name("f")));
                case 3 -> {
                    DirEntry entry = rig.state.readDir(d, 0, 1 << 16, true).getEntries(0);
                    yield ofFile(entry.getAttr());
                }
                case 4 ->
                        rig.state.getXattr(f, name("user.version")).asReadOnlyByteBuffer().getInt();
                case 5 -> {
                    rig.state.lookup(d, name(".."));
                    yield rig.state.getAttr(d).getAtime().getSeconds();
                }
                default -> rig.state.counters().bytesUsed() - bytesAtFirst;
            };
        }

        private static long ofFile(Attr attr) {
            assertThat(attr.getSize()).as("one state").isEqualTo(attr.getAtime().getSeconds());
            return attr.getSize();
        }
    }
}
