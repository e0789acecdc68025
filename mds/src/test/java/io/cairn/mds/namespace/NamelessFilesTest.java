package io.cairn.mds.namespace;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.MutationResult;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.FreeInodesEntry;
import io.cairn.mds.store.StateListener;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files without a name, which an entry of the leader frees. */
final class NamelessFilesTest {
    private static final long ROOT = NamespaceReader.ROOT_INODE;

    @TempDir Path directory;

    private final List<Long> told = new ArrayList<>();
    private StateRig rig;
    private long session;

    @BeforeEach
    void open() throws Exception {
        rig = StateRig.formatted(directory);
        level(Features.READ_OPENS);
        rig.state.addListener(
                new StateListener() {
                    @Override
                    public void nameless(long inode) {
                        told.add(inode);
                    }
                });
        session = rig.openSession(1);
    }

    @AfterEach
    void close() throws Exception {
        rig.close();
    }

    private void level(int level) {
        rig.apply(rig.entry().setSettings(ClusterSettings.newBuilder().setFeatureLevel(level)));
    }

    private void free(long... inodes) {
        FreeInodesEntry.Builder entry = FreeInodesEntry.newBuilder();
        for (long inode : inodes) {
            entry.addInodes(inode);
        }
        assertThat(rig.apply(rig.entry().setFreeInodes(entry)).getErrno()).isZero();
    }

    private long file(String name) {
        return made(rig.mutate(session, Ops.create(ROOT, name)));
    }

    private static long made(MutationResult result) {
        assertThat(result.getErrno()).isZero();
        return result.getAttr().getInode();
    }

    @Test
    void aFileStaysUntilTheLeaderSaysThatNobodyReadsIt() {
        long used = rig.state.counters().inodesUsed();
        long file = file("f");
        rig.mutate(session, Ops.grow(file, 1 << 20));
        rig.mutate(session, Ops.unlink(ROOT, "f"));
        assertThat(told).containsExactly(file);
        assertThat(rig.state.orphans(0, 10)).containsExactly(file);
        assertThat(rig.state.isUnused(file)).isTrue();
        assertThat(rig.state.getAttr(file).getNlink()).isZero();
        assertThat(rig.state.deletions(0, 10)).isEmpty();
        free(file, 999); // and one that is not there
        assertThat(rig.state.orphans(0, 10)).isEmpty();
        assertThat(rig.state.attr(file)).isNull();
        assertThat(rig.state.deletions(0, 10)).hasSize(1);
        assertThat(rig.state.counters().inodesUsed()).isEqualTo(used);
        free(file);
        assertThat(rig.state.counters().inodesUsed()).isEqualTo(used);
    }

    @Test
    void oneThatHasANameOrIsOpenIsPassedOver() {
        long named = file("named");
        long open = file("open");
        rig.mutate(session, Ops.open(open));
        rig.mutate(session, Ops.unlink(ROOT, "open"));
        assertThat(told).isEmpty();
        assertThat(rig.state.isUnused(open)).isFalse();
        free(named, open);
        assertThat(rig.state.attr(named)).isNotNull();
        assertThat(rig.state.attr(open)).isNotNull();
        rig.mutate(session, Ops.release(open));
        assertThat(told).containsExactly(open);
        assertThat(rig.state.attr(open)).isNotNull();
        free(open);
        assertThat(rig.state.attr(open)).isNull();
    }

    @Test
    void oneThatARenameReplacesStaysToo() {
        long replaced = file("to");
        file("from");
        rig.mutate(session, Ops.rename(ROOT, "from", ROOT, "to", 0));
        assertThat(told).containsExactly(replaced);
        free(replaced);
        assertThat(rig.state.attr(replaced)).isNull();
    }

    @Test
    void whatIsNoRegularFileGoesAtOnce() {
        long made = made(rig.mutate(session, Ops.mkdir(ROOT, "d")));
        rig.mutate(session, Ops.rmdir(ROOT, "d"));
        assertThat(rig.state.attr(made)).isNull();
        assertThat(told).isEmpty();
    }
}
