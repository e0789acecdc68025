package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.StateRig.name;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RaiseCeilingOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.rocks.DeletedRows;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.ReapedEntry;
import io.cairn.mds.proto.TruncatedEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the random model test does not reach or cannot compare with a local file system. */
class NamespaceTest {
    @TempDir Path directory;
    private StateRig rig;
    private long session;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        session = rig.openSession(1);
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private Attr done(Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getAttr();
    }

    private Errno refused(Mutation.Builder mutation) {
        return Errno.of(rig.mutate(session, mutation).getErrno());
    }

    private Errno lookupError(long parent, String name) {
        try {
            rig.state.lookup(parent, name(name));
            return Errno.OK;
        } catch (FsException e) {
            return e.errno();
        }
    }

    @Test
    void createdFileIsFoundWithItsAttributes() {
        Attr made = done(Ops.create(ROOT_INODE, "f", 0640, true, false));
        Attr found = rig.state.lookup(ROOT_INODE, name("f"));
        assertThat(found)
                .isEqualTo(made.toBuilder().setNoXattrs(true).setWriters(0).build())
                .isEqualTo(rig.state.getAttr(made.getInode()));
        assertThat(found.getMode()).isEqualTo(Mode.REGULAR | 0640);
        assertThat(found.getNlink()).isEqualTo(1);
        assertThat(found.getUid()).isEqualTo(1000);
        assertThat(found.getSizeCeiling()).isEqualTo(4 << 20);
        assertThat(found.getLayout()).isEqualTo(StateRig.LAYOUT);
        assertThat(rig.state.getAttr(ROOT_INODE).getMtime()).isEqualTo(made.getMtime());
    }

    @Test
    void creatingWithoutExclusiveOpensWhatIsThere() {
        Attr made = done(Ops.create(ROOT_INODE, "f"));
        MutationResult again = rig.mutate(session, Ops.createOpen(ROOT_INODE, "f"));
        assertThat(again.getCreated()).isFalse();
        assertThat(again.getAttr().getInode()).isEqualTo(made.getInode());
        assertThat(rig.state.openCount(session, made.getInode())).isEqualTo(1);
        assertThat(refused(Ops.create(ROOT_INODE, "f"))).isEqualTo(Errno.EEXIST);
        done(Ops.mkdir(ROOT_INODE, "d"));
        assertThat(refused(Ops.createOpen(ROOT_INODE, "d"))).isEqualTo(Errno.EISDIR);
    }

    @Test
    void dotAndDotDotAreAnswered() {
        long d = done(Ops.mkdir(ROOT_INODE, "d")).getInode();
        long e = done(Ops.mkdir(d, "e")).getInode();
        long f = done(Ops.create(d, "f")).getInode();
        assertThat(rig.state.lookup(e, name("..")).getInode()).isEqualTo(d);
        assertThat(rig.state.lookup(ROOT_INODE, name("..")).getInode()).isEqualTo(ROOT_INODE);
        assertThat(rig.state.lookup(f, name(".")).getInode()).isEqualTo(f);
        assertThat(lookupError(f, "..")).isEqualTo(Errno.ENOTDIR);
        assertThat(lookupError(f, "x")).isEqualTo(Errno.ENOTDIR);
        assertThat(lookupError(d, "x")).isEqualTo(Errno.ENOENT);
    }

    @Test
    void namesThatAreNoneAreRefused() {
        assertThat(refused(Ops.create(ROOT_INODE, "n".repeat(255)))).isEqualTo(Errno.OK);
        assertThat(refused(Ops.create(ROOT_INODE, "n".repeat(256)))).isEqualTo(Errno.ENAMETOOLONG);
        assertThat(refused(Ops.create(ROOT_INODE, ""))).isEqualTo(Errno.ENOENT);
        assertThat(refused(Ops.create(ROOT_INODE, "a/b"))).isEqualTo(Errno.EINVAL);
        assertThat(refused(Ops.create(ROOT_INODE, "a\0b"))).isEqualTo(Errno.EINVAL);
        assertThat(refused(Ops.mkdir(ROOT_INODE, "."))).isEqualTo(Errno.EINVAL);
        assertThat(refused(Ops.rmdir(ROOT_INODE, ".."))).isEqualTo(Errno.EINVAL);
        assertThat(lookupError(ROOT_INODE, "n".repeat(256))).isEqualTo(Errno.ENAMETOOLONG);
    }

    @Test
    void namesOfAnyBytesWork() {
        byte[] bytes = new byte[255];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i + 1 == '/' ? 1 : i + 1);
        }
        ByteString odd = ByteString.copyFrom(bytes);
        Mutation.Builder create = Ops.create(ROOT_INODE, "x");
        create.getCreateBuilder().setName(odd);
        long inode = done(create).getInode();
        assertThat(rig.state.lookup(ROOT_INODE, odd).getInode()).isEqualTo(inode);
        assertThat(rig.state.readDir(ROOT_INODE, 0, 1 << 16, true).getEntries(0).getName())
                .isEqualTo(odd);
    }

    @Test
    void unlinkedOpenFileLivesUntilItsLastRelease() {
        Attr file = done(Ops.createOpen(ROOT_INODE, "f"));
        long other = rig.openSession(2);
        rig.mutate(other, Ops.open(file.getInode()));
        done(Ops.open(file.getInode()));
        done(Ops.grow(file.getInode(), 100));
        done(Ops.unlink(ROOT_INODE, "f"));
        assertThat(lookupError(ROOT_INODE, "f")).isEqualTo(Errno.ENOENT);
        assertThat(rig.state.orphans(0, 10)).containsExactly(file.getInode());
        assertThat(rig.state.getAttr(file.getInode()).getNlink()).isZero();
        assertThat(refused(Ops.link(file.getInode(), ROOT_INODE, "g"))).isEqualTo(Errno.ENOENT);
        done(Ops.release(file.getInode()));
        done(Ops.release(file.getInode()));
        assertThat(refused(Ops.release(file.getInode()))).isEqualTo(Errno.EBADF);
        assertThat(rig.state.orphans(0, 10)).containsExactly(file.getInode());
        assertThat(rig.state.counters().deletionInodes()).isZero();
        rig.mutate(other, Ops.release(file.getInode()));
        assertThat(rig.state.orphans(0, 10)).isEmpty();
        assertThat(rig.state.deletions(0, 10))
                .singleElement()
                .satisfies(record -> {
                    assertThat(record.getInode()).isEqualTo(file.getInode());
                    assertThat(record.getSize()).isEqualTo(100);
                    assertThat(record.getSizeCeiling()).isEqualTo(4 << 20);
                    assertThat(record.getMapEpoch()).isEqualTo(1);
                });
        assertThat(refused(Ops.open(file.getInode()))).isEqualTo(Errno.ENOENT);
    }

    @Test
    void onlyRegularFilesAreQueued() {
        done(Ops.symlink(ROOT_INODE, "s", "t"));
        done(Ops.mknod(ROOT_INODE, "p", Mode.FIFO | 0600, 0));
        done(Ops.mkdir(ROOT_INODE, "d"));
        done(Ops.unlink(ROOT_INODE, "s"));
        done(Ops.unlink(ROOT_INODE, "p"));
        done(Ops.rmdir(ROOT_INODE, "d"));
        assertThat(rig.state.counters().deletionInodes()).isZero();
        assertThat(rig.state.counters().inodesUsed()).isEqualTo(1);
    }

    @Test
    void reapedInodesLeaveTheQueueAndItsHeadMoves() {
        List<Long> inodes = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            inodes.add(done(Ops.create(ROOT_INODE, "f" + i)).getInode());
        }
        for (int i = 0; i < 10; i++) {
            done(Ops.unlink(ROOT_INODE, "f" + i));
        }
        reap(inodes.subList(2, 5));
        assertThat(rig.state.counters().deletionHead()).isEqualTo(1);
        assertThat(rig.state.counters().deletionInodes()).isEqualTo(7);
        reap(inodes.subList(0, 2));
        assertThat(rig.state.counters().deletionHead()).isEqualTo(6);
        assertThat(rig.state.deletions(0, 2).getFirst().getInode()).isEqualTo(inodes.get(5));
        assertThat(rig.state.deletions(6, 9)).hasSize(4);
        reap(inodes);
        assertThat(rig.state.deletions(0, 10)).isEmpty();
        assertThat(rig.state.counters().deletionHead()).isEqualTo(11);
        assertThat(rig.state.counters().deletionInodes()).isZero();
    }

    /** What the leader does many times a second must not become slower with each deletion. */
    @Test
    void filesDeletedBeforeAreNotWalkedOver() throws Exception {
        List<Long> inodes = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            inodes.add(done(Ops.create(ROOT_INODE, "f" + i)).getInode());
        }
        for (int i = 0; i < 300; i++) {
            done(Ops.unlink(ROOT_INODE, "f" + i));
        }
        reap(inodes);
        long last = done(Ops.create(ROOT_INODE, "last")).getInode();
        done(Ops.unlink(ROOT_INODE, "last"));
        long walkedOver =
                DeletedRows.walkedOver(
                        directory.resolve("any"),
                        () -> {
                            assertThat(rig.state.deletions(0, 10)).hasSize(1);
                            assertThat(rig.state.pendingTruncations(0, 10)).isEmpty();
                            reap(List.of(last));
                            assertThat(rig.state.deletions(0, 10)).isEmpty();
                        });
        assertThat(walkedOver).isZero();
    }

    private void reap(List<Long> inodes) {
        LogEntry.Builder entry =
                rig.entry().setReaped(ReapedEntry.newBuilder().addAllInodes(inodes));
        assertThat(rig.apply(entry).getErrno()).isZero();
    }

    @Test
    void shrinksArePendingUntilApplied() {
        long f = done(Ops.create(ROOT_INODE, "f")).getInode();
        done(Ops.grow(f, 1000));
        for (int i = 1; i <= Truncations.MAX_PENDING; i++) {
            assertThat(done(Ops.truncate(f, 1000 - i)).getPendingTruncationsCount()).isEqualTo(i);
        }
        assertThat(refused(Ops.truncate(f, 5))).isEqualTo(Errno.EAGAIN);
        Attr grown = done(Ops.truncate(f, 1 << 30));
        assertThat(grown.getSize()).isEqualTo(1 << 30);
        assertThat(grown.getPendingTruncationsCount()).isEqualTo(4);
        assertThat(rig.state.pendingTruncations(0, 10)).containsExactly(grown);
        truncated(f, 2);
        Attr left = rig.state.getAttr(f);
        assertThat(left.getPendingTruncationsList().stream().map(t -> t.getSequence()))
                .containsExactly(3L, 4L);
        truncated(f, 4);
        assertThat(rig.state.pendingTruncations(0, 10)).isEmpty();
        // A hole beyond the ceiling is cut without anybody's help.
        assertThat(done(Ops.truncate(f, 8 << 20)).getTruncateSequence()).isEqualTo(4);
        assertThat(done(Ops.truncate(f, 0)).getTruncateSequence()).isEqualTo(5);
    }

    private void truncated(long inode, long sequence) {
        rig.apply(
                rig.entry()
                        .setTruncated(
                                TruncatedEntry.newBuilder().setInode(inode).setSequence(sequence)));
    }

    /** Those to mutations say nothing of it: they are kept, and older members would keep others. */
    @Test
    void answersToQueriesSayWhetherThereAreXattrs() {
        Attr made = done(Ops.create(ROOT_INODE, "f", 0640, true, false));
        long f = made.getInode();
        assertThat(made.getNoXattrs()).isFalse();
        assertThat(saysNoXattrs(f)).containsOnly(true);
        done(Ops.setXattr(f, "user.a", name("value"), 0));
        done(Ops.setXattr(f, "user.b", name(""), 0));
        assertThat(saysNoXattrs(f)).containsOnly(false);
        done(Ops.removeXattr(f, "user.a"));
        assertThat(saysNoXattrs(f)).containsOnly(false);
        assertThat(done(Ops.removeXattr(f, "user.b")).getNoXattrs()).isFalse();
        assertThat(saysNoXattrs(f)).containsOnly(true);
    }

    private List<Boolean> saysNoXattrs(long f) {
        return List.of(
                rig.state.getAttr(f).getNoXattrs(),
                rig.state.lookup(ROOT_INODE, name("f")).getNoXattrs(),
                rig.state
                        .readDir(ROOT_INODE, 0, 1 << 20, true)
                        .getEntries(0)
                        .getAttr()
                        .getNoXattrs());
    }

    @Test
    void growTakesTheMaximumAndPrivileges() {
        long f = done(Ops.create(ROOT_INODE, "f", 06755, true, false)).getInode();
        done(Ops.setXattr(f, "security.capability", name("caps"), 0));
        done(Ops.grow(f, 500));
        assertThat(done(Ops.grow(f, 400)).getSize()).isEqualTo(500);
        assertThat(rig.state.getAttr(f).getMode() & 07777).isEqualTo(06755);
        Timespec early = Timespec.newBuilder().setSeconds(3).build();
        Mutation.Builder kill =
                Mutation.newBuilder()
                        .setGrow(
                                GrowOp.newBuilder()
                                        .setInode(f)
                                        .setMtime(early)
                                        .setKillSuidSgid(true));
        Attr killed = done(kill);
        assertThat(killed.getMode() & 07777).isEqualTo(0755);
        assertThat(killed.getMtime().getSeconds()).isGreaterThan(3);
        assertThat(rig.state.listXattr(f)).isEmpty();
        Mutation.Builder raise =
                Mutation.newBuilder()
                        .setRaiseCeiling(
                                RaiseCeilingOp.newBuilder().setInode(f).setSizeCeiling(1 << 30));
        assertThat(done(raise).getSizeCeiling()).isEqualTo(1 << 30);
    }

    private Attr written(long inode, long seconds) {
        GrowOp.Builder grow =
                GrowOp.newBuilder()
                        .setInode(inode)
                        .setMtime(Timespec.newBuilder().setSeconds(seconds));
        return done(Mutation.newBuilder().setGrow(grow));
    }

    private Attr timeSet(long inode, long seconds) {
        return done(
                Ops.setAttr(
                        SetAttrOp.newBuilder()
                                .setInode(inode)
                                .setMtime(Timespec.newBuilder().setSeconds(seconds))));
    }

    @Test
    void aWriteTakesBackAnMtimeFromTheFutureAndNoOther() {
        long f = done(Ops.create(ROOT_INODE, "f")).getInode();
        long now = rig.state.getAttr(f).getMtime().getSeconds() + 1_000;
        assertThat(written(f, now).getMtime().getSeconds()).isEqualTo(now);
        assertThat(written(f, now - 500).getMtime().getSeconds())
                .as("published late by another client")
                .isEqualTo(now);
        long future = 4_070_908_800L;
        assertThat(timeSet(f, future).getMtime().getSeconds()).isEqualTo(future);
        assertThat(done(Ops.setAttr(SetAttrOp.newBuilder().setInode(f).setMode(0600))).getMtime())
                .as("only a write changes it")
                .isEqualTo(rig.state.getAttr(f).getMtime());
        Attr later = written(f, now + 5);
        assertThat(later.getMtime().getSeconds()).isEqualTo(now + 5);
        assertThat(later.getCtime().getSeconds()).isEqualTo(now + 5);
        assertThat(timeSet(f, 7).getMtime().getSeconds()).isEqualTo(7);
        assertThat(written(f, now + 6).getMtime().getSeconds()).isEqualTo(now + 6);
    }

    @Test
    void theHeadOfTheDeletionQueueIsItsFirstRecordInWhateverOrderTheyGo() {
        long seed = TestSeed.of("NamespaceTest");
        Random random = new Random(seed);
        List<Long> queued = new ArrayList<>();
        for (int round = 0; round < 60; round++) {
            for (int i = random.nextInt(6); i > 0; i--) {
                String name = "f" + round + "-" + i;
                queued.add(done(Ops.create(ROOT_INODE, name)).getInode());
                done(Ops.unlink(ROOT_INODE, name));
            }
            List<Long> reaped = new ArrayList<>();
            int sort = random.nextInt(3);
            for (long inode : queued) {
                if (sort == 0 ? reaped.size() < 4 : sort == 1 && random.nextBoolean()) {
                    reaped.add(inode);
                }
            }
            queued.removeAll(reaped);
            reap(reaped);
            List<DeletionRecord> left = rig.state.deletions(0, 1000);
            assertThat(left.stream().map(DeletionRecord::getInode).toList()).isEqualTo(queued);
            assertThat(rig.state.counters().deletionHead())
                    .isEqualTo(
                            left.isEmpty()
                                    ? rig.state.counters().nextDeletion()
                                    : left.getFirst().getSequence());
        }
    }

    @Test
    void explicitTimesAreTakenAsTheyAre() {
        long f = done(Ops.create(ROOT_INODE, "f")).getInode();
        Timespec odd =
                Timespec.newBuilder().setSeconds(-Long.MAX_VALUE).setNanos(999_999_999).build();
        SetAttrOp.Builder change = SetAttrOp.newBuilder().setInode(f).setAtime(odd).setMtime(odd);
        Attr changed = done(Ops.setAttr(change));
        assertThat(changed.getAtime()).isEqualTo(odd);
        assertThat(changed.getMtime()).isEqualTo(odd);
        assertThat(changed.getCtime()).isNotEqualTo(odd);
        change.getMtimeBuilder().setNanos(1_000_000_000);
        assertThat(refused(Ops.setAttr(change))).isEqualTo(Errno.EINVAL);
    }

    @Test
    void setGroupIdDirectoryPassesItsGroupOn() {
        long d = done(Ops.mkdir(ROOT_INODE, "d", 02775)).getInode();
        done(Ops.setAttr(SetAttrOp.newBuilder().setInode(d).setGid(77)));
        assertThat(done(Ops.create(d, "f")).getGid()).isEqualTo(77);
        Attr sub = done(Ops.mkdir(d, "sub", 0755));
        assertThat(sub.getGid()).isEqualTo(77);
        assertThat(sub.getMode() & 07777).isEqualTo(02755);
    }

    @Test
    void extendedAttributesHaveLinuxLimits() {
        long f = done(Ops.create(ROOT_INODE, "f")).getInode();
        ByteString v = name("v");
        assertThat(refused(Ops.setXattr(f, "user.a", v, 2))).isEqualTo(Errno.ENODATA);
        assertThat(refused(Ops.setXattr(f, "user.a", v, 1))).isEqualTo(Errno.OK);
        assertThat(refused(Ops.setXattr(f, "user.a", v, 1))).isEqualTo(Errno.EEXIST);
        assertThat(refused(Ops.setXattr(f, "", v, 0))).isEqualTo(Errno.ERANGE);
        assertThat(refused(Ops.setXattr(f, "u".repeat(256), v, 0))).isEqualTo(Errno.ERANGE);
        ByteString big = ByteString.copyFrom(new byte[65_536]);
        assertThat(refused(Ops.setXattr(f, "user.b", big.concat(v), 0))).isEqualTo(Errno.E2BIG);
        for (int i = 0; i < 3; i++) {
            assertThat(refused(Ops.setXattr(f, "user.b" + i, big, 0))).isEqualTo(Errno.OK);
        }
        assertThat(refused(Ops.setXattr(f, "user.b3", big, 0))).isEqualTo(Errno.ENOSPC);
        assertThat(rig.state.getXattr(f, name("user.b2"))).isEqualTo(big);
        assertThat(rig.state.listXattr(f)).hasSize(4);
        done(Ops.removeXattr(f, "user.b2"));
        assertThat(refused(Ops.removeXattr(f, "user.b2"))).isEqualTo(Errno.ENODATA);
        assertThatThrownBy(() -> rig.state.getXattr(f, name("user.b2")))
                .isInstanceOf(FsException.class);
        done(Ops.unlink(ROOT_INODE, "f"));
    }

    @Test
    void layoutIsSetAndInherited() {
        long d = done(Ops.mkdir(ROOT_INODE, "d")).getInode();
        done(Ops.setXattr(d, "cairn.layout", name("stripe_unit=65536 stripe_count=4"), 0));
        assertThat(rig.state.getXattr(d, name("cairn.layout")).toStringUtf8())
                .isEqualTo("pool=default stripe_unit=65536 stripe_count=4 chunk_size=4194304");
        long sub = done(Ops.mkdir(d, "sub")).getInode();
        Attr f = done(Ops.create(sub, "f"));
        assertThat(f.getLayout().getStripeCount()).isEqualTo(4);
        assertThat(f.getSizeCeiling()).isEqualTo(16 << 20);
        assertThat(rig.state.listXattr(f.getInode())).isEmpty();
        done(Ops.setXattr(f.getInode(), "cairn.layout", name("pool=1 stripe_count=1"), 0));
        done(Ops.grow(f.getInode(), 1));
        assertThat(refused(Ops.setXattr(f.getInode(), "cairn.layout", name("pool=1"), 0)))
                .isEqualTo(Errno.ENOTEMPTY);
        for (String bad :
                List.of("pool=2", "stripe_unit=5", "stripe_count=0", "x", "", "chunk_size=4097")) {
            assertThat(refused(Ops.setXattr(d, "cairn.layout", name(bad), 0)))
                    .as(bad)
                    .isEqualTo(Errno.EINVAL);
        }
        assertThat(refused(Ops.setXattr(d, "cairn.other", name("x"), 0))).isEqualTo(Errno.EPERM);
    }

    @Test
    void removedOpenDirectoryTakesNothingNew() {
        long d = done(Ops.mkdir(ROOT_INODE, "d")).getInode();
        done(Ops.open(d));
        done(Ops.rmdir(ROOT_INODE, "d"));
        assertThat(refused(Ops.create(d, "f"))).isEqualTo(Errno.ENOENT);
        assertThat(rig.state.readDir(d, 0, 4096, false).getEntriesCount()).isZero();
        done(Ops.release(d));
    }
}
