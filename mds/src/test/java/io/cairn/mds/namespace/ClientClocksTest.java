package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.StateRig.name;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.store.Time;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several clients, no two with the same clock, change the same files. */
class ClientClocksTest {
    private static final long AHEAD = 2_000_000_000;
    private static final long BEHIND = 1_900_000_000;

    @TempDir Path directory;
    private StateRig rig;
    private long session;
    private long d;
    private long e;
    private long f;

    /** All that exists was last changed by the client whose clock is ahead. */
    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        session = rig.openSession(1);
        d = done(AHEAD, Ops.mkdir(ROOT_INODE, "d")).getInode();
        e = done(AHEAD, Ops.mkdir(ROOT_INODE, "e")).getInode();
        f = done(AHEAD, Ops.createOpen(d, "f")).getInode();
        done(AHEAD, Ops.create(d, "g"));
        done(AHEAD, Ops.mkdir(d, "sub"));
        done(AHEAD, Ops.grow(f, 1000));
        done(AHEAD, Ops.setXattr(f, "user.a", name("1"), 0));
        done(AHEAD, Ops.create(e, "h"));
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private Attr done(long seconds, Mutation.Builder mutation) {
        mutation.setTime(Timespec.newBuilder().setSeconds(seconds));
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getAttr();
    }

    private static Time ctime(Attr attr) {
        return Time.of(attr.getCtime());
    }

    private static Time mtime(Attr attr) {
        return Time.of(attr.getMtime());
    }

    private static Time after(Time time, int nanos) {
        return new Time(time.seconds(), time.nanos() + nanos);
    }

    private Mutation.Builder write(long seconds) {
        return Mutation.newBuilder()
                .setGrow(
                        GrowOp.newBuilder()
                                .setInode(f)
                                .setMtime(Timespec.newBuilder().setSeconds(seconds)));
    }

    private SetAttrOp.Builder change() {
        return SetAttrOp.newBuilder().setInode(f);
    }

    /** Whatever a client with a slow clock does to f, f's ctime goes one nanosecond on. */
    @Test
    void noChangeSetsACtimeBack() {
        Timespec behind = Timespec.newBuilder().setSeconds(BEHIND).build();
        Map<String, Mutation.Builder> changes = new LinkedHashMap<>();
        changes.put("chmod", Ops.setAttr(change().setMode(0600)));
        changes.put("chown", Ops.setAttr(change().setUid(7)));
        changes.put("utimensat", Ops.setAttr(change().setMtime(behind).setAtime(behind)));
        changes.put("truncate", Ops.truncate(f, 10));
        changes.put("truncate with its time", Ops.setAttr(change().setSize(5).setMtime(behind)));
        changes.put("publish", write(BEHIND));
        changes.put("publish a size", Ops.grow(f, 100));
        changes.put("setxattr", Ops.setXattr(f, "user.b", name("2"), 0));
        changes.put("removexattr", Ops.removeXattr(f, "user.a"));
        changes.put("layout", Ops.setXattr(e, "cairn.layout", name("stripe_count=2"), 0));
        changes.put("link", Ops.link(f, e, "link"));
        changes.put("unlink", Ops.unlink(e, "link"));
        changes.put("rename", Ops.rename(d, "f", e, "f", 0));
        changes.put("exchange", Ops.rename(e, "f", d, "g", Rename.EXCHANGE));
        changes.put("unlink the last name", Ops.unlink(d, "g"));
        Mutation.Builder release = Mutation.newBuilder();
        release.setRelease(
                ReleaseOp.newBuilder()
                        .setInode(f)
                        .setOpens(1)
                        .setGrow(GrowOp.newBuilder().setMtime(behind)));
        long kept = done(AHEAD, Ops.link(f, e, "kept")).getInode();
        changes.put("release", release);
        changes.forEach((what, mutation) -> {
            long inode = what.equals("layout") ? e : kept;
            Time before = ctime(rig.state.getAttr(inode));
            done(BEHIND, mutation);
            assertThat(ctime(rig.state.getAttr(inode))).as(what).isEqualTo(after(before, 1));
        });
    }

    /** Directories have no mtime but the one the file system gives them, or utimensat. */
    @Test
    void noChangeOfADirectorySetsItsTimesBack() {
        Map<String, Mutation.Builder> changes = new LinkedHashMap<>();
        changes.put("create", Ops.create(d, "new"));
        changes.put("mkdir", Ops.mkdir(d, "newdir"));
        changes.put("symlink", Ops.symlink(d, "newlink", "x"));
        changes.put("mknod", Ops.mknod(d, "fifo", Mode.FIFO | 0600, 0));
        changes.put("link", Ops.link(f, d, "f2"));
        changes.put("unlink", Ops.unlink(d, "f2"));
        changes.put("rmdir", Ops.rmdir(d, "newdir"));
        changes.put("rename within", Ops.rename(d, "f", d, "f3", 0));
        changes.put("rename out of it", Ops.rename(d, "f3", e, "f", 0));
        changes.put("rename into it", Ops.rename(e, "f", d, "f", 0));
        changes.put("exchange", Ops.rename(d, "f", e, "h", Rename.EXCHANGE));
        changes.put("replace", Ops.rename(d, "new", d, "fifo", 0));
        changes.forEach((what, mutation) -> {
            Attr before = rig.state.getAttr(d);
            done(BEHIND, mutation);
            Attr after = rig.state.getAttr(d);
            assertThat(ctime(after)).as("ctime: " + what).isEqualTo(after(ctime(before), 1));
            assertThat(mtime(after)).as("mtime: " + what).isEqualTo(ctime(after));
        });
        Time moved = ctime(rig.state.lookup(d, name("sub")));
        done(BEHIND, Ops.rename(d, "sub", e, "sub", 0));
        assertThat(ctime(rig.state.lookup(e, name("sub")))).isEqualTo(after(moved, 1));
    }

    @Test
    void theMtimeOfATruncationOrOfNowIsNotBeforeTheLastChange() {
        Attr before = rig.state.getAttr(f);
        Attr cut = done(BEHIND, Ops.truncate(f, 10));
        assertThat(mtime(cut)).isEqualTo(after(ctime(before), 1)).isEqualTo(ctime(cut));
        SetAttrOp.Builder now =
                change().setMtime(Timespec.newBuilder().setSeconds(BEHIND)).setMtimeNow(true);
        Attr touched = done(BEHIND, Ops.setAttr(now));
        assertThat(mtime(touched)).isEqualTo(after(ctime(cut), 1)).isEqualTo(ctime(touched));
        now.getMtimeBuilder().setSeconds(AHEAD + 5).setNanos(3);
        assertThat(mtime(done(AHEAD + 6, Ops.setAttr(now))))
                .as("a clock that is not behind")
                .isEqualTo(new Time(AHEAD + 5, 3));
    }

    @Test
    void aTimeThatTheCallerNamesIsTakenAsItIs() {
        SetAttrOp.Builder named = change().setMtime(Timespec.newBuilder().setSeconds(7));
        assertThat(mtime(done(BEHIND, Ops.setAttr(named)))).isEqualTo(new Time(7, 0));
        named.setSize(3);
        assertThat(mtime(done(BEHIND, Ops.setAttr(named)))).isEqualTo(new Time(7, 0));
    }

    /** Kernels throw their pages of a file away when its mtime is another one. */
    @Test
    void eachPublishedWriteGivesALaterMtime() {
        Time first = mtime(done(AHEAD, write(AHEAD + 10)));
        assertThat(first).isEqualTo(new Time(AHEAD + 10, 0));
        Time second = mtime(done(BEHIND, write(BEHIND)));
        assertThat(second).isEqualTo(after(first, 1));
        Attr third = done(AHEAD, write(AHEAD + 10));
        assertThat(mtime(third)).isEqualTo(after(second, 1));
        assertThat(ctime(third)).isGreaterThanOrEqualTo(mtime(third));
    }

    @Test
    void randomChangesByRandomClocksLeaveGrowingTimes() {
        Random random = TestSeed.random("ClientClocksTest");
        for (int i = 0; i < 2000; i++) {
            long seconds = BEHIND + random.nextInt(1000) + (random.nextBoolean() ? 0 : 500);
            Attr file = rig.state.getAttr(f);
            Attr parent = rig.state.getAttr(d);
            Mutation.Builder mutation =
                    switch (random.nextInt(5)) {
                        case 0 -> write(seconds);
                        case 1 -> Ops.setAttr(change().setMode(random.nextInt(0777)));
                        case 2 -> Ops.link(f, d, "l" + i);
                        case 3 -> Ops.create(d, "c" + i);
                        default -> Ops.rename(d, "f", d, "f", 0);
                    };
            done(seconds, mutation);
            assertLater(file, rig.state.getAttr(f));
            assertLater(parent, rig.state.getAttr(d));
        }
    }

    private static void assertLater(Attr before, Attr after) {
        boolean changed = after.getChange() != before.getChange();
        assertThat(ctime(after).compareTo(ctime(before))).isEqualTo(changed ? 1 : 0);
        assertThat(mtime(after)).isGreaterThanOrEqualTo(mtime(before));
    }

    @Test
    void theLastTimeThereIsStays() {
        assertThat(new Time(1, 999_999_999).next()).isEqualTo(new Time(2, 0));
        assertThat(new Time(-1, 999_999_999).next()).isEqualTo(new Time(0, 0));
        Time last = new Time(Long.MAX_VALUE, 999_999_999);
        assertThat(last.next()).isEqualTo(last);
    }
}
