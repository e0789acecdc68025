package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.store.StateListener;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One session at a time may append to a file, and each begins where the one before it ended. */
class AppendRightsTest {
    @TempDir Path directory;
    private StateRig rig;
    private long one;
    private long two;
    private final List<String> events = new ArrayList<>();

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        one = rig.openSession(1);
        two = rig.openSession(2);
        rig.state.addListener(
                new StateListener() {
                    @Override
                    public void appendRightTaken(long inode) {
                        events.add("taken " + inode);
                    }

                    @Override
                    public void appendRightFree(long inode) {
                        events.add("free " + inode);
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

    private long created() {
        return done(one, Ops.createOpen(ROOT_INODE, "f")).getAttr().getInode();
    }

    private void evict(long session) {
        rig.apply(rig.entry().setEvictSession(EvictSessionEntry.newBuilder().setSession(session)));
    }

    private void release(long session) {
        rig.apply(
                rig.entry()
                        .setReleaseSession(ReleaseSessionEntry.newBuilder().setSession(session)));
    }

    @Test
    void theSecondGetsItWhenTheFirstHasGivenItBackWithItsSize() {
        long f = created();
        assertThat(done(one, Ops.acquireAppend(f)).getAppendRight()).isTrue();
        assertThat(done(one, Ops.acquireAppend(f)).getAppendRight()).as("again").isTrue();
        done(two, Ops.open(f));
        assertThat(errno(two, Ops.acquireAppend(f))).isEqualTo(Errno.EAGAIN);
        assertThat(rig.state.appender(f)).isEqualTo(one);
        assertThat(done(one, Ops.returnAppend(f, 700)).getAttr().getSize()).isEqualTo(700);
        MutationResult granted = done(two, Ops.acquireAppend(f));
        assertThat(granted.getAppendRight()).isTrue();
        assertThat(granted.getAttr().getSize()).isEqualTo(700);
        assertThat(errno(one, Ops.acquireAppend(f))).isEqualTo(Errno.EAGAIN);
        assertThat(events).containsExactly("taken " + f, "free " + f, "taken " + f);
    }

    @Test
    void openingToAppendTakesItOnlyWhereItIsFree() {
        MutationResult created =
                done(
                        one,
                        Ops.create(ROOT_INODE, "f", 0644, true, true)
                                .setCreate(
                                        Ops.create(ROOT_INODE, "f", 0644, true, true)
                                                .getCreate()
                                                .toBuilder()
                                                .setAppend(true)));
        long f = created.getAttr().getInode();
        assertThat(created.getAppendRight()).isTrue();
        MutationResult opened = done(two, Ops.openToAppend(f));
        assertThat(opened.getAppendRight()).isFalse();
        done(one, Ops.release(f));
        assertThat(rig.state.appender(f)).isZero();
        assertThat(done(two, Ops.openToAppend(f)).getAppendRight()).isTrue();
        assertThat(rig.state.appender(f)).isEqualTo(two);
    }

    @Test
    void itGoesWithTheLastCloseNotWithAnEarlierOne() {
        long f = created();
        done(one, Ops.openToAppend(f));
        done(one, Ops.release(f));
        assertThat(rig.state.appender(f)).isEqualTo(one);
        done(one, Ops.release(f));
        assertThat(rig.state.appender(f)).isZero();
        assertThat(errno(one, Ops.acquireAppend(f))).as("not open").isEqualTo(Errno.EBADF);
        assertThat(events).containsExactly("taken " + f, "free " + f);
    }

    @Test
    void anEvictedSessionKeepsItUntilItIsReleased() {
        long f = created();
        done(one, Ops.openToAppend(f));
        done(two, Ops.open(f));
        evict(one);
        assertThat(errno(two, Ops.acquireAppend(f))).isEqualTo(Errno.EAGAIN);
        release(one);
        assertThat(done(two, Ops.acquireAppend(f)).getAppendRight()).isTrue();
    }

    @Test
    void aClosedSessionLeavesIt() {
        long f = created();
        done(one, Ops.openToAppend(f));
        done(two, Ops.open(f));
        rig.apply(rig.entry().setCloseSession(CloseSessionEntry.newBuilder().setSession(one)));
        assertThat(rig.state.appender(f)).isZero();
        assertThat(done(two, Ops.acquireAppend(f)).getAppendRight()).isTrue();
    }

    @Test
    void returningWhatOneDoesNotHaveTakesItFromNobody() {
        long f = created();
        done(one, Ops.openToAppend(f));
        done(two, Ops.open(f));
        assertThat(done(two, Ops.returnAppend(f, 10)).getAttr().getSize()).isEqualTo(10);
        assertThat(rig.state.appender(f)).isEqualTo(one);
    }

    @Test
    void onlyOfRegularFiles() {
        long d = done(one, Ops.mkdir(ROOT_INODE, "d")).getAttr().getInode();
        assertThat(errno(one, Ops.acquireAppend(d))).isEqualTo(Errno.EINVAL);
        assertThat(errno(one, Ops.acquireAppend(999))).isEqualTo(Errno.ENOENT);
    }

    @Test
    void anUnlinkedFileIsAppendedToAndFreedWithItsLastClose() {
        long f = created();
        done(two, Ops.openToAppend(f));
        done(one, Ops.unlink(ROOT_INODE, "f"));
        assertThat(errno(one, Ops.acquireAppend(f))).isEqualTo(Errno.EAGAIN);
        done(two, Ops.release(f));
        assertThat(done(one, Ops.acquireAppend(f)).getAppendRight()).isTrue();
        done(one, Ops.release(f));
        assertThat(rig.state.attr(f)).isNull();
        assertThat(rig.state.appender(f)).isZero();
    }

    /** Against a model: who may append, and that no two do. */
    @Test
    void randomOpensClosesAndRights() {
        long seed = TestSeed.of("AppendRightsTest");
        Random random = new Random(seed);
        long f = created();
        long holder = 0;
        Map<Long, Integer> opens = new HashMap<>(Map.of(one, 1));
        for (int i = 0; i < 2000; i++) {
            long session = random.nextBoolean() ? one : two;
            int open = opens.getOrDefault(session, 0);
            switch (random.nextInt(5)) {
                case 0 -> {
                    boolean append = random.nextBoolean();
                    MutationResult r = done(session, append ? Ops.openToAppend(f) : Ops.open(f));
                    opens.merge(session, 1, Integer::sum);
                    holder = append && holder == 0 ? session : holder;
                    assertThat(r.getAppendRight()).isEqualTo(append && holder == session);
                }
                case 1, 2 -> {
                    Errno expected = open == 0 ? Errno.EBADF : Errno.OK;
                    assertThat(errno(session, Ops.release(f))).isEqualTo(expected);
                    opens.put(session, Math.max(0, open - 1));
                    holder = open == 1 && holder == session ? 0 : holder;
                }
                case 3 -> {
                    boolean other = holder != 0 && holder != session;
                    Errno expected = open == 0 ? Errno.EBADF : other ? Errno.EAGAIN : Errno.OK;
                    assertThat(errno(session, Ops.acquireAppend(f))).isEqualTo(expected);
                    holder = expected == Errno.OK ? session : holder;
                }
                default -> {
                    done(session, Ops.returnAppend(f, i));
                    holder = holder == session ? 0 : holder;
                }
            }
            assertThat(rig.state.appender(f)).as("after step " + i).isEqualTo(holder);
        }
    }
}
