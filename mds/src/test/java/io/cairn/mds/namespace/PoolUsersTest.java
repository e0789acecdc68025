package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static io.cairn.mds.namespace.StateRig.name;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.Pool;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.MapChangeEntry;
import io.cairn.mds.proto.ReapedEntry;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whoever may have data in a pool is counted, and the pool stays while there is somebody. */
class PoolUsersTest {
    private static final Pool FAST =
            Pool.newBuilder()
                    .setId(2)
                    .setName("fast")
                    .setSize(2)
                    .setMinSize(1)
                    .setPgCount(8)
                    .build();

    @TempDir Path directory;
    private StateRig rig;
    private long session;
    private long epoch;

    @BeforeEach
    void open() throws IOException {
        rig = StateRig.formatted(directory);
        session = rig.openSession(1);
        epoch = rig.state.map().epoch();
        assertThat(change(FAST).getErrno()).isZero();
    }

    @AfterEach
    void close() throws IOException {
        rig.close();
    }

    private ApplyReply change(Pool pool) {
        MapUpdate.Builder update =
                MapUpdate.newBuilder().setBaseEpoch(epoch).setEpoch(epoch + 1).addPools(pool);
        ApplyReply reply =
                rig.apply(
                        rig.entry()
                                .setMapChange(
                                        MapChangeEntry.newBuilder()
                                                .setBaseEpoch(epoch)
                                                .setUpdate(update)));
        epoch += reply.getErrno() == 0 ? 1 : 0;
        return reply;
    }

    private Errno removed(Pool pool) {
        return Errno.of(change(pool.toBuilder().setRemoved(true).build()).getErrno());
    }

    private Attr done(Mutation.Builder mutation) {
        MutationResult result = rig.mutate(session, mutation);
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getAttr();
    }

    private Errno layout(long inode, String value) {
        return Errno.of(
                rig.mutate(session, Ops.setXattr(inode, "cairn.layout", name(value), 0))
                        .getErrno());
    }

    private long users() {
        return rig.state.poolUsers(2);
    }

    @Test
    void aPoolIsRemovedOnceNothingNamesItAndItsDataIsGone() {
        long d = done(Ops.mkdir(ROOT_INODE, "d")).getInode();
        assertThat(layout(d, "pool=fast")).isEqualTo(Errno.OK);
        assertThat(users()).isEqualTo(1);
        assertThat(removed(FAST)).isEqualTo(Errno.EBUSY);
        long f = done(Ops.create(d, "f")).getInode();
        done(Ops.symlink(d, "s", "f"));
        done(Ops.mkdir(d, "sub"));
        assertThat(users()).as("not the symbolic link").isEqualTo(3);
        assertThat(layout(f, "pool=default")).isEqualTo(Errno.OK);
        assertThat(users()).isEqualTo(2);
        assertThat(layout(f, "pool=fast stripe_count=2")).isEqualTo(Errno.OK);

        done(Ops.unlink(d, "f"));
        done(Ops.unlink(d, "s"));
        done(Ops.rmdir(d, "sub"));
        done(Ops.rmdir(ROOT_INODE, "d"));
        assertThat(users()).as("the data of f").isEqualTo(1);
        assertThat(removed(FAST)).isEqualTo(Errno.EBUSY);
        rig.apply(rig.entry().setReaped(ReapedEntry.newBuilder().addInodes(f)));
        assertThat(users()).isZero();
        assertThat(removed(FAST)).isEqualTo(Errno.OK);

        long e = done(Ops.mkdir(ROOT_INODE, "e")).getInode();
        assertThat(layout(e, "pool=fast")).isEqualTo(Errno.EINVAL);
        assertThat(layout(e, "pool=2")).isEqualTo(Errno.EINVAL);
        assertThat(change(FAST.toBuilder().setId(3).build()).getErrno()).isZero();
        assertThat(layout(e, "pool=fast")).isEqualTo(Errno.OK);
        assertThat(rig.state.poolUsers(3)).isEqualTo(1);
    }

    @Test
    void theFirstPoolStays() {
        assertThat(removed(StateRig.format().getPool())).isEqualTo(Errno.EBUSY);
    }
}
