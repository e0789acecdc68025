package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.StateListener;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks in the replicated state: who gets them, how long they last, how many there may be. */
class FileLocksTest {
    private static final long END = Long.MAX_VALUE;

    @TempDir Path directory;
    private StateRig rig;
    private long one;
    private long two;
    private long file;
    private final List<Long> changed = new ArrayList<>();

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory.resolve("state"));
        one = rig.openSession(1);
        two = rig.openSession(2);
        file = done(one, Ops.createOpen(ROOT_INODE, "f")).getAttr().getInode();
        done(two, Ops.open(file));
        rig.state.addListener(
                new StateListener() {
                    @Override
                    public void locksChanged(long inode) {
                        changed.add(inode);
                    }
                });
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private MutationResult done(long session, Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result;
    }

    private Errno errno(long session, Mutation.Builder mutation) {
        return Errno.of(rig.mutate(session, mutation).getErrno());
    }

    private FileLock held(long session, FileLock lock) {
        return lock.toBuilder().setSession(session).build();
    }

    private long locks(long session) {
        SessionRecord record = Objects.requireNonNull(rig.state.session(session));
        return record.getLocks();
    }

    private FileLock range(long owner, boolean exclusive, long start, long end) {
        return Ops.range(file, owner, exclusive, start, end);
    }

    @Test
    void oneSessionsLockKeepsAnothersAwayUntilItIsGivenUp() {
        FileLock lock = range(7, true, 10, 19);
        MutationResult result = done(one, Ops.lock(lock));
        assertThat(result.getAttr().getWasLocked()).isTrue();
        assertThat(result.getReplacedLocksList()).isEmpty();
        assertThat(rig.state.locks(file)).containsExactly(held(one, lock));
        assertThat(errno(two, Ops.lock(range(7, false, 19, END)))).isEqualTo(Errno.EAGAIN);
        assertThat(errno(one, Ops.lock(range(8, false, 0, 10)))).isEqualTo(Errno.EAGAIN);
        done(two, Ops.lock(range(7, false, 20, END)));
        done(two, Ops.lock(Ops.whole(file, 7, true)));
        assertThat(locks(one)).isEqualTo(1);
        assertThat(locks(two)).isEqualTo(2);
        assertThat(changed).hasSize(3);
        done(one, Ops.unlock(range(7, false, 0, END)));
        done(two, Ops.lock(range(7, true, 0, END)));
        assertThat(locks(one)).isZero();
        assertThat(locks(two)).isEqualTo(2);
        done(one, Ops.unlock(range(7, false, 0, END)));
        assertThat(changed).as("nothing was left to unlock").hasSize(5);
    }

    @Test
    void theResultSaysWhatTheOwnerHadOfTheRange() {
        done(one, Ops.lock(range(7, false, 10, 29)));
        done(one, Ops.lock(range(7, true, 40, END)));
        MutationResult result = done(one, Ops.lock(range(7, true, 20, 49)));
        assertThat(result.getReplacedLocksList())
                .containsExactly(
                        held(one, range(7, false, 20, 29)), held(one, range(7, true, 40, 49)));
        assertThat(rig.state.locks(file))
                .containsExactly(
                        held(one, range(7, false, 10, 19)), held(one, range(7, true, 20, END)));
    }

    @Test
    void aConversionOfFlockThatFailsLosesTheLockAndOneOfARangeKeepsIt() {
        done(one, Ops.lock(Ops.whole(file, 7, false)));
        done(two, Ops.lock(Ops.whole(file, 7, false)));
        assertThat(errno(one, Ops.lock(Ops.whole(file, 7, true)))).isEqualTo(Errno.EAGAIN);
        done(two, Ops.lock(Ops.whole(file, 7, true)));
        done(one, Ops.lock(range(7, false, 0, 9)));
        done(two, Ops.lock(range(7, false, 0, 9)));
        assertThat(errno(one, Ops.lock(range(7, true, 0, 9)))).isEqualTo(Errno.EAGAIN);
        assertThat(errno(two, Ops.lock(range(7, true, 0, 9)))).isEqualTo(Errno.EAGAIN);
    }

    @Test
    void whatIsNoLockIsRefused() {
        assertThat(errno(one, Ops.lock(range(7, true, -1, 9)))).isEqualTo(Errno.EINVAL);
        assertThat(errno(one, Ops.lock(range(7, true, 9, 8)))).isEqualTo(Errno.EINVAL);
        FileLock part = range(7, true, 1, END).toBuilder().setFlock(true).build();
        assertThat(errno(one, Ops.lock(part))).isEqualTo(Errno.EINVAL);
        FileLock nothing = Ops.range(999, 7, true, 0, 9);
        assertThat(errno(one, Ops.lock(nothing))).isEqualTo(Errno.ENOENT);
        done(two, Ops.release(file));
        assertThat(errno(two, Ops.lock(range(7, true, 0, 9)))).isEqualTo(Errno.EBADF);
        FileLock root = Ops.range(ROOT_INODE, 7, true, 0, 9);
        assertThat(errno(one, Ops.lock(root))).isEqualTo(Errno.EINVAL);
    }

    @Test
    void locksEndWithTheLastOpenOfTheSession() {
        done(two, Ops.open(file));
        done(two, Ops.lock(range(7, true, 0, END)));
        done(two, Ops.release(file));
        assertThat(errno(one, Ops.lock(range(7, true, 0, 0)))).isEqualTo(Errno.EAGAIN);
        done(two, Ops.release(file));
        assertThat(locks(two)).isZero();
        done(one, Ops.lock(range(7, true, 0, 0)));
    }

    @Test
    void anEvictedSessionKeepsItsLocksUntilItIsReleased() {
        done(two, Ops.lock(range(7, true, 0, END)));
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(two)));
        assertThat(errno(one, Ops.lock(range(7, true, 0, 0)))).isEqualTo(Errno.EAGAIN);
        rig.apply(rig.entry().setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(two)));
        done(one, Ops.lock(range(7, true, 0, 0)));
    }

    @Test
    void locksGoInTheSlicesInWhichASessionEnds() {
        List<Long> files = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            long made = done(two, Ops.createOpen(ROOT_INODE, "f" + i)).getAttr().getInode();
            files.add(made);
            done(two, Ops.lock(Ops.range(made, 7, true, 0, 0)));
            done(two, Ops.lock(Ops.range(made, 7, true, 2, 2)));
            done(one, Ops.open(made));
        }
        assertThat(locks(two)).isEqualTo(10);
        rig.apply(
                rig.entry()
                        .setCloseSession(
                                CloseSessionEntry.newBuilder().setSession(two).setMaxOpens(3)));
        assertThat(locks(two)).as("the first file and two of these are given back").isEqualTo(6);
        done(one, Ops.lock(Ops.whole(files.get(0), 1, true)));
        done(one, Ops.lock(Ops.range(files.get(1), 1, true, 0, END)));
        assertThat(errno(one, Ops.lock(Ops.range(files.get(2), 1, true, 0, END))))
                .isEqualTo(Errno.EAGAIN);
        rig.apply(
                rig.entry()
                        .setReleaseSession(
                                ReleaseSessionEntry.newBuilder().setSession(two).setMaxOpens(3)));
        assertThat(rig.state.session(two)).isNull();
        done(one, Ops.lock(Ops.range(files.get(4), 1, true, 0, END)));
    }

    @Test
    void thereAreOnlySoManyOfAFile() {
        for (int i = 0; i < FileLocks.MAX_OF_A_FILE; i++) {
            done(one, Ops.lock(range(7, true, 4L * i, 4L * i + 2)));
        }
        assertThat(errno(two, Ops.lock(range(7, true, END, END)))).isEqualTo(Errno.ENOLCK);
        assertThat(errno(one, Ops.unlock(range(7, true, 1, 1)))).isEqualTo(Errno.ENOLCK);
        assertThat(locks(one)).isEqualTo(FileLocks.MAX_OF_A_FILE);
        done(one, Ops.lock(range(7, true, 0, 99)));
        done(two, Ops.lock(range(7, true, END, END)));
    }

    @Test
    void locksSurviveARestartAndTravelInACheckpoint() throws IOException {
        FileLock lock = range(7, true, 0, 9);
        done(one, Ops.lock(lock));
        Path checkpoint = directory.resolve("checkpoint");
        rig.state.flush();
        rig.state.checkpoint(checkpoint);
        done(one, Ops.unlock(lock));
        try (StateRig other = new StateRig(directory.resolve("other"))) {
            other.state.restore(checkpoint);
            assertThat(other.state.locks(file)).containsExactly(held(one, lock));
            assertThat(other.state.locksAfter(0, 10)).containsExactly(held(one, lock));
            assertThat(other.state.locksAfter(file, 10)).isEmpty();
        }
    }
}
