package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.file.FileTree;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Mutation;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.namespace.RandomOperations.Step;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.proto.TruncatedEntry;
import io.cairn.mds.raft.ReplicatedState.Position;
import io.cairn.mds.store.StateDirectory;
import io.cairn.mds.store.StateListener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The same log gives the same state, byte for byte, whatever happens on the way. */
class RecoveryTest {
    private static final long SEED = TestSeed.of("RecoveryTest");
    private static final int ROUNDS = 250;

    @TempDir Path directory;

    private final Random random = new Random(SEED);
    private long session;
    private int clients = 1;

    /** Entries of every kind; opens are kept until their session ends. */
    private void work(StateRig rig, RandomOperations operations, int rounds) {
        if (session == 0) {
            session = rig.openSession(clients);
        }
        for (int i = 0; i < rounds; i++) {
            List<Mutation.Builder> batch = new ArrayList<>();
            for (int n = random.nextInt(8); n >= 0; n--) {
                Step step = operations.next();
                batch.add(step.mutation());
                if (random.nextInt(5) == 0) {
                    batch.add(Ops.open(1 + random.nextLong(rig.state.maxInode() + 3)));
                }
            }
            rig.mutate(session, batch);
            switch (random.nextInt(12)) {
                case 0 -> endSession(rig);
                case 1 -> reap(rig);
                case 2 -> truncated(rig);
                default -> {}
            }
        }
    }

    /** In slices of a few opens, with other entries in between. */
    private void endSession(StateRig rig) {
        long ending = session;
        int slice = random.nextInt(4);
        if (random.nextBoolean()) {
            rig.apply(
                    rig.entry()
                            .setCloseSession(
                                    CloseSessionEntry.newBuilder()
                                            .setSession(ending)
                                            .setMaxOpens(slice)));
        } else {
            rig.apply(
                    rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(ending)));
        }
        session = rig.openSession(++clients);
        while (rig.state.session(ending) != null) {
            rig.apply(
                    rig.entry()
                            .setReleaseSession(
                                    ReleaseSessionEntry.newBuilder()
                                            .setSession(ending)
                                            .setMaxOpens(slice)));
            reap(rig);
        }
    }

    private void reap(StateRig rig) {
        ReapedEntry.Builder reaped = ReapedEntry.newBuilder();
        rig.state.deletions(0, 10).stream()
                .filter(r -> random.nextInt(3) != 0)
                .forEach(r -> reaped.addInodes(r.getInode()));
        rig.apply(rig.entry().setReaped(reaped));
    }

    private void truncated(StateRig rig) {
        for (Attr attr : rig.state.pendingTruncations(0, 10)) {
            rig.apply(
                    rig.entry()
                            .setTruncated(
                                    TruncatedEntry.newBuilder()
                                            .setInode(attr.getInode())
                                            .setSequence(attr.getTruncateSequence())));
        }
    }

    private RandomOperations operations() {
        return new RandomOperations(random, new ModelNamespace(), null);
    }

    /**
     * What a kill leaves: the files, without anything that only memory had. Copied again until
     * RocksDB's compactions have changed nothing meanwhile: a kill takes all files at one moment.
     */
    private Path killed(StateRig rig, String name) throws IOException {
        Path copy = directory.resolve(name);
        while (true) {
            Map<Path, Long> before = sizes(rig.directory);
            if (copied(rig.directory, copy) && sizes(rig.directory).equals(before)) {
                return copy;
            }
            FileTree.delete(copy);
        }
    }

    private static Map<Path, Long> sizes(Path root) throws IOException {
        Map<Path, Long> sizes = new HashMap<>();
        for (Path file : files(root)) {
            try {
                sizes.put(file, Files.size(file));
            } catch (NoSuchFileException e) {
                sizes.put(file, -1L);
            }
        }
        return sizes;
    }

    /** A file that is deleted while they are listed is none of them. */
    private static List<Path> files(Path root) throws IOException {
        while (true) {
            try {
                return FileTree.files(root);
            } catch (UncheckedIOException e) {
                if (!(e.getCause() instanceof NoSuchFileException)) {
                    throw e;
                }
            }
        }
    }

    /** False where a file was deleted before it was copied. */
    private static boolean copied(Path root, Path copy) throws IOException {
        for (Path from : files(root)) {
            Path to = copy.resolve(root.relativize(from).toString());
            Files.createDirectories(Objects.requireNonNull(to.getParent()));
            try {
                Files.copy(from, to);
            } catch (NoSuchFileException e) {
                return false;
            }
        }
        return true;
    }

    @Test
    void killedStateIsTheSameAfterItsLogWasAppliedAgain() throws IOException {
        StateRig rig = StateRig.formatted(directory.resolve("state"));
        RandomOperations operations = operations();
        List<Path> kills = new ArrayList<>();
        List<Integer> lengths = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            work(rig, operations, ROUNDS / 4);
            kills.add(killed(rig, "killed-" + i));
            lengths.add(rig.log.size());
            rig.state.checkpoint(directory.resolve("checkpoint-" + i)); // flushes
            work(rig, operations, 5);
            kills.add(killed(rig, "killed-after-" + i));
            lengths.add(rig.log.size());
        }
        rig.close();
        String expected = Fingerprint.of(rig.directory);
        for (int i = 0; i < kills.size(); i++) {
            try (MetaState reopened = MetaState.open(kills.get(i), StateRig.config())) {
                assertThat(reopened.appliedIndex()).isBetween(0L, (long) lengths.get(i));
                replay(rig, reopened);
            }
            assertThat(Fingerprint.of(kills.get(i))).as("kill " + i).isEqualTo(expected);
            MetaFsck.check(kills.get(i));
        }
    }

    private static void replay(StateRig rig, MetaState into) {
        for (int i = 0; i < rig.log.size(); i++) {
            into.apply(1, i + 1, rig.log.get(i));
        }
    }

    @Test
    void replicasAreEqualWithCachesOfAnySize() throws IOException {
        StateRig rig = StateRig.formatted(directory.resolve("state"));
        work(rig, operations(), ROUNDS);
        List<ByteString> replies = new ArrayList<>();
        for (int cache : List.of(1, 50, 100_000)) {
            Path other = directory.resolve("replica-" + cache);
            List<ByteString> given = new ArrayList<>();
            try (MetaState replica = MetaState.open(other, StateRig.config(cache))) {
                for (int i = 0; i < rig.log.size(); i++) {
                    given.add(replica.apply(1, i + 1, rig.log.get(i)));
                }
                assertThat(Trees.describe(replica)).isEqualTo(Trees.describe(rig.state));
            }
            if (replies.isEmpty()) {
                replies.addAll(given);
            }
            assertThat(given).isEqualTo(replies);
        }
        rig.close();
        for (int cache : List.of(1, 50, 100_000)) {
            assertThat(Fingerprint.of(directory.resolve("replica-" + cache)))
                    .isEqualTo(Fingerprint.of(rig.directory));
        }
    }

    @Test
    void checkpointIsRestoredAndTheRestApplied() throws IOException {
        StateRig rig = StateRig.formatted(directory.resolve("state"));
        RandomOperations operations = operations();
        work(rig, operations, ROUNDS / 2);
        Path checkpoint = directory.resolve("checkpoint");
        Position position = rig.state.checkpoint(checkpoint);
        assertThat(position.index()).isEqualTo(rig.log.size());
        List<String> tree = Trees.describe(rig.state);
        work(rig, operations, ROUNDS / 2);
        Path other = directory.resolve("other");
        try (StateRig lagging = StateRig.formatted(other)) {
            long theirs = lagging.openSession(77);
            lagging.mutate(theirs, Ops.mkdir(ROOT_INODE, "of another history"));
            List<String> heard = new ArrayList<>();
            lagging.state.addListener(
                    new StateListener() {
                        @Override
                        public void restored() {
                            heard.add("restored");
                        }
                    });
            lagging.state.restore(checkpoint);
            assertThat(heard).containsExactly("restored");
            assertThat(lagging.state.appliedIndex()).isEqualTo(position.index());
            assertThat(Trees.describe(lagging.state)).isEqualTo(tree);
            replay(rig, lagging.state);
        }
        rig.close();
        assertThat(Fingerprint.of(other)).isEqualTo(Fingerprint.of(rig.directory));
        assertThat(Files.exists(checkpoint)).as("left as it is").isTrue();
    }

    @Test
    void restoreCutShortIsFinishedAtTheNextStart() throws IOException {
        StateRig rig = StateRig.formatted(directory.resolve("state"));
        work(rig, operations(), 20);
        Path checkpoint = directory.resolve("checkpoint");
        rig.state.checkpoint(checkpoint);
        rig.close();
        String expected = Fingerprint.of(rig.directory);
        Path other = directory.resolve("other");
        StateRig.formatted(other).close();
        StateDirectory files = new StateDirectory(other, StateRig.config().rocks());
        files.receive(checkpoint); // killed before the database was replaced
        MetaState.open(other, StateRig.config()).close();
        assertThat(Fingerprint.of(other)).isEqualTo(expected);

        files.receive(checkpoint); // killed while the database was being replaced
        Files.delete(other.resolve("current").resolve("CURRENT"));
        MetaState.open(other, StateRig.config()).close();
        assertThat(Fingerprint.of(other)).isEqualTo(expected);

        Files.createDirectories(other.resolve("receiving")); // killed while copying
        Files.writeString(other.resolve("receiving").resolve("CURRENT"), "half");
        MetaState.open(other, StateRig.config()).close();
        assertThat(Fingerprint.of(other)).isEqualTo(expected);
    }

    @Test
    void skippedEntriesMoveThePositionAlone() throws IOException {
        try (StateRig rig = StateRig.formatted(directory.resolve("state"))) {
            rig.state.skip(7, 10);
            assertThat(rig.state.appliedIndex()).isEqualTo(10);
            assertThat(rig.state.appliedTerm()).isEqualTo(7);
            rig.state.skip(6, 9);
            assertThat(rig.state.appliedIndex()).isEqualTo(10);
        }
    }
}
