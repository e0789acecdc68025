package io.cairn.mds.namespace;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.namespace.RandomOperations.Step;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.FreeInodesEntry;
import io.cairn.mds.store.EntryKeys;
import io.cairn.mds.store.EntryKeys.Move;
import io.cairn.mds.store.EntryWatcher;
import io.cairn.mds.store.MetaStore.EntryKey;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an entry is said to change is all that it changes, and is said before anybody sees it. */
final class EntryKeysTest implements EntryWatcher {
    private static final int OPERATIONS = 1_500;

    @TempDir Path directory;

    private final Set<Long> inodes = new HashSet<>();
    private final Set<EntryKey> names = new HashSet<>();
    private final Set<Long> readInodes = new HashSet<>();
    private final Set<EntryKey> readNames = new HashSet<>();
    private final List<Move> moves = new ArrayList<>();
    private final List<Long> maker = new ArrayList<>();
    private boolean repeats;
    private boolean noteReads = true;
    private long showing;
    private long shown;
    private Runnable whenShowing = () -> {};

    @Override
    public boolean wantsReads() {
        return noteReads;
    }

    @Override
    public void showing(long index, long session, EntryKeys entry) {
        inodes.clear();
        names.clear();
        for (long inode : entry.changedInodes()) {
            if (entry.changesAttributes(inode)) {
                inodes.add(inode);
            }
        }
        names.addAll(entry.changedNames());
        readInodes.clear();
        readInodes.addAll(entry.readInodes());
        readNames.clear();
        readNames.addAll(entry.readNames());
        moves.clear();
        moves.addAll(entry.moves());
        maker.add(session);
        repeats = entry.repeatsAnswers();
        showing = index;
        whenShowing.run();
    }

    @Override
    public void shown(long index) {
        assertThat(index).isEqualTo(showing);
        shown = index;
    }

    @Test
    void whatAnEntryChangesIsSaid() throws IOException {
        Random random = TestSeed.random("EntryKeysTest");
        RandomOperations operations = new RandomOperations(random, new ModelNamespace(), null);
        try (StateRig rig = StateRig.formatted(directory)) {
            rig.applyTwice = false;
            rig.state.watch(this);
            long session = rig.openSession(1);
            Seen before = Seen.of(rig.state);
            for (int i = 0; i < OPERATIONS; i++) {
                Step step = operations.next();
                Seen same = before;
                whenShowing =
                        i % 50 != 0
                                ? () -> {}
                                : () ->
                                        assertThat(Seen.of(rig.state))
                                                .as("nobody sees it")
                                                .isEqualTo(same);
                rig.mutate(session, step.mutation());
                assertThat(maker.getLast()).isEqualTo(session);
                assertThat(shown).isEqualTo(rig.log.size());
                Seen after = Seen.of(rig.state);
                Set<Long> changed = differing(before.attributes, after.attributes);
                assertThat(inodes).as(step.what()).containsAll(changed);
                assertThat(names).as(step.what()).containsAll(differing(before.names, after.names));
                assertThat(readInodes)
                        .as(step.what())
                        .containsAll(differingBefore(before, changed));
                before = after;
            }
        }
    }

    @Test
    void whatItReadsIsNotedWhereItIsAskedFor() throws IOException {
        try (StateRig rig = StateRig.formatted(directory)) {
            rig.applyTwice = false;
            rig.state.watch(this);
            long session = rig.openSession(1);
            long file = rig.mutate(session, Ops.create(1, "a")).getAttr().getInode();
            assertThat(rig.mutate(session, Ops.create(1, "a")).getErrno()).isNotZero();
            assertThat(inodes).isEmpty();
            assertThat(names).isEmpty();
            assertThat(readNames).containsExactly(new EntryKey(1, ByteString.copyFromUtf8("a")));
            assertThat(readInodes).contains(1L);
            noteReads = false;
            rig.mutate(session, Ops.truncate(file, 5));
            assertThat(inodes).containsExactly(file);
            assertThat(readInodes).isEmpty();
            assertThat(readNames).isEmpty();
        }
    }

    /** Who has removed them, a thousand in a second, would be asked to forget each. */
    @Test
    void whatHasNoNameIsFreedWithoutAnybodyHearingOfIt() throws IOException {
        try (StateRig rig = StateRig.formatted(directory)) {
            rig.applyTwice = false;
            rig.state.watch(this);
            rig.apply(
                    rig.entry()
                            .setSettings(
                                    ClusterSettings.newBuilder()
                                            .setFeatureLevel(Features.READ_OPENS)));
            long session = rig.openSession(1);
            long file = rig.mutate(session, Ops.create(1, "a")).getAttr().getInode();
            rig.mutate(session, Ops.unlink(1, "a"));
            assertThat(inodes).contains(file);
            assertThat(rig.state.isUnused(file)).isTrue();
            rig.apply(rig.entry().setFreeInodes(FreeInodesEntry.newBuilder().addInodes(file)));
            assertThat(rig.state.isUnused(file)).as("it is freed").isFalse();
            assertThat(inodes).isEmpty();
            long made = rig.mutate(session, Ops.mkdir(1, "d")).getAttr().getInode();
            rig.mutate(session, Ops.rmdir(1, "d"));
            assertThat(inodes).contains(made);
        }
    }

    @Test
    void anOpenToWriteChangesWhatOthersMayBelieveAndACloseDoesNot() throws IOException {
        try (StateRig rig = StateRig.formatted(directory)) {
            rig.applyTwice = false;
            rig.state.watch(this);
            long session = rig.openSession(1);
            long file = rig.mutate(session, Ops.create(1, "a")).getAttr().getInode();
            rig.mutate(session, Ops.open(file));
            assertThat(inodes).as("it may be written to").containsExactly(file);
            rig.mutate(session, Ops.open(file));
            assertThat(inodes).as("the session has it open already").isEmpty();
            rig.mutate(session, Ops.release(file));
            rig.mutate(session, Ops.release(file));
            assertThat(inodes).isEmpty();
        }
    }

    @Test
    void renamesAndRepeatedAnswersAreSaid() throws IOException {
        try (StateRig rig = StateRig.formatted(directory)) {
            rig.state.watch(this);
            rig.applyTwice = false;
            long session = rig.openSession(1);
            long to = rig.mutate(session, Ops.mkdir(1, "d")).getAttr().getInode();
            rig.mutate(session, Ops.create(1, "a"));
            rig.mutate(session, Ops.create(to, "b"));
            assertThat(moves).isEmpty();
            rig.mutate(session, Ops.rename(1, "a", to, "c", 0));
            assertThat(moves).containsExactly(new Move(1, to));
            rig.mutate(session, Ops.rename(1, "d", to, "d", 0));
            assertThat(moves).as("it fails").isEmpty();
            rig.mutate(session, Ops.create(1, "e"));
            rig.mutate(session, Ops.rename(1, "e", to, "c", 2));
            assertThat(moves).containsExactly(new Move(1, to), new Move(to, 1));
            rig.mutate(session, Ops.rename(to, "c", to, "g", 0));
            assertThat(moves).as("within a directory").isEmpty();
            assertThat(repeats).isFalse();
            rig.mutateFrom(session, rig.nextNumber(session) - 1);
            rig.mutate(session, Ops.create(1, "repeated"));
            assertThat(repeats).isTrue();
            assertThat(names).isEmpty();
        }
    }

    private static Set<Long> differingBefore(Seen before, Set<Long> changed) {
        Set<Long> known = new HashSet<>(changed);
        known.retainAll(before.attributes.keySet());
        return known;
    }

    private static <K, V> Set<K> differing(Map<K, V> before, Map<K, V> after) {
        Set<K> all = new HashSet<>(before.keySet());
        all.addAll(after.keySet());
        all.removeIf(key -> Objects.equals(before.get(key), after.get(key)));
        return all;
    }

    /** All that clients can be told. */
    private record Seen(Map<Long, Attr> attributes, Map<EntryKey, Long> names) {
        static Seen of(NamespaceReader state) {
            Seen seen = new Seen(new HashMap<>(), new HashMap<>());
            seen.collect(state, state.getAttr(NamespaceReader.ROOT_INODE));
            return seen;
        }

        private void collect(NamespaceReader state, Attr attr) {
            attributes.put(attr.getInode(), attr);
            if (!Mode.isDirectory(attr.getMode())) {
                return;
            }
            for (DirEntry entry :
                    state.readDir(attr.getInode(), 0, 1 << 20, true).getEntriesList()) {
                names.put(new EntryKey(attr.getInode(), entry.getName()), entry.getInode());
                collect(state, entry.getAttr());
            }
        }
    }
}
