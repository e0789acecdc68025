package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.StateRig.name;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.DirEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Readers see one state between two entries, never a part of one. */
class ConcurrentReadTest {
    private static final int ROUNDS = 500;

    @TempDir Path directory;

    /**
     * Two files change places under two names again and again, and each keeps its size to itself;
     * with a cache that holds almost nothing, and one that holds all.
     */
    @Test
    void lookupsAndListingsAreOfOneState() throws Exception {
        for (int cache : List.of(1, 1000)) {
            swapAndRead(directory.resolve("cache-" + cache), cache);
        }
    }

    private static void swapAndRead(Path directory, int cache) throws Exception {
        try (StateRig rig = new StateRig(directory, cache)) {
            rig.apply(rig.entry().setFormat(StateRig.format()));
            rig.applyTwice = false;
            long session = rig.openSession(1);
            long d = rig.mutate(session, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
            rig.mutate(session, Ops.create(d, "a"));
            rig.mutate(session, Ops.symlink(d, "b", "target"));
            AtomicBoolean stop = new AtomicBoolean();
            try (ExecutorService readers = Executors.newFixedThreadPool(3)) {
                List<Future<?>> running = new ArrayList<>();
                running.add(readers.submit(() -> lookUp(rig.state, d, stop)));
                running.add(readers.submit(() -> lookUp(rig.state, d, stop)));
                running.add(readers.submit(() -> list(rig.state, d, stop)));
                for (int i = 0; i < ROUNDS; i++) {
                    rig.mutate(
                            session,
                            List.of(
                                    Ops.rename(d, "a", d, "b", Rename.EXCHANGE),
                                    Ops.create(d, "c"),
                                    Ops.unlink(d, "c"),
                                    Ops.mkdir(d, "gone"),
                                    Ops.rmdir(d, "gone")));
                    rig.mutate(session, i % 2 == 0 ? Ops.mkdir(d, "e") : Ops.rmdir(d, "e"));
                }
                stop.set(true);
                for (Future<?> reader : running) {
                    reader.get();
                }
            }
        }
    }

    private static void lookUp(MetaState state, long d, AtomicBoolean stop) {
        ByteString a = name("a");
        ByteString e = name("e");
        while (!stop.get()) {
            // What is found under a name is what it leads to: never an inode that is gone.
            assertThat(state.lookup(d, a).getNlink()).isEqualTo(1);
            try {
                assertThat(state.lookup(d, e).getNlink()).isEqualTo(2);
            } catch (FsException absent) {
                assertThat(absent.errno()).isEqualTo(Errno.ENOENT);
            }
        }
    }

    private static void list(MetaState state, long d, AtomicBoolean stop) {
        while (!stop.get()) {
            List<DirEntry> entries = state.readDir(d, 0, 1 << 16, true).getEntriesList();
            assertThat(entries.size()).isBetween(2, 3);
            assertThat(entries.get(0).getInode()).isNotEqualTo(entries.get(1).getInode());
            for (DirEntry entry : entries) {
                assertThat(Mode.type(entry.getAttr().getMode())).isEqualTo(entry.getMode());
                assertThat(entry.getAttr().getInode()).isEqualTo(entry.getInode());
            }
        }
    }

    @Test
    void readersOutliveARestore() throws Exception {
        try (StateRig rig = StateRig.formatted(directory.resolve("state"))) {
            long session = rig.openSession(1);
            rig.mutate(session, Ops.mkdir(ROOT_INODE, "d"));
            Path checkpoint = directory.resolve("checkpoint");
            rig.state.checkpoint(checkpoint);
            AtomicBoolean stop = new AtomicBoolean();
            try (ExecutorService readers = Executors.newSingleThreadExecutor()) {
                Future<?> reader =
                        readers.submit(() -> {
                            while (!stop.get()) {
                                rig.state.lookup(ROOT_INODE, name("d"));
                                rig.state.readDir(ROOT_INODE, 0, 1000, true);
                            }
                        });
                for (int i = 0; i < 5; i++) {
                    rig.state.restore(checkpoint);
                }
                stop.set(true);
                reader.get();
            }
        }
    }

    @Test
    void closedStateIsRefusedNotTouched() throws IOException {
        StateRig rig = StateRig.formatted(directory.resolve("state"));
        rig.close();
        rig.state.close();
        try {
            rig.state.getAttr(ROOT_INODE);
            throw new AssertionError("read a closed state");
        } catch (FsException e) {
            assertThat(e.errno()).isEqualTo(Errno.EIO);
        }
    }
}
