package io.cairn.mds.server;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.IdRange;
import io.cairn.common.proto.LinkOp;
import io.cairn.common.proto.MknodOp;
import io.cairn.common.proto.MoveOp;
import io.cairn.common.proto.MoveStep;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.common.proto.RemoveXattrOp;
import io.cairn.common.proto.RenameOp;
import io.cairn.common.proto.ReturnIdsOp;
import io.cairn.common.proto.RmdirOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.SetLockOp;
import io.cairn.common.proto.SymlinkOp;
import io.cairn.common.proto.Timespec;
import java.util.ArrayList;
import java.util.List;

/**
 * Mutations of every kind, each of which answers differently or leaves another state when it is
 * executed a second time. Names begin with a prefix, so that it can be done again and again.
 */
final class EveryKind {
    private static final long ROOT = 1;
    private static final int EXCHANGE = 2;
    private static final ByteString VALUE = ByteString.copyFromUtf8("value");

    private final String prefix;

    /** Open once, with an extended attribute, and larger than nothing. */
    private final long file;

    /** Ids of the session, all of which are used. */
    private final IdRange ids;

    /** Executes what the others need to be there. */
    EveryKind(TestSession session, String prefix) {
        this.prefix = prefix;
        file = TestSession.inode(session.mutate(create("file", true))).getInode();
        ids = session.mutate(TestSession.acquireIds(2)).getIds();
        List<Mutation> before =
                List.of(
                        TestSession.setXattr(file, "user.gone", VALUE),
                        TestSession.grow(file, 5000),
                        create("unlinked", true),
                        create("from", false),
                        create("left", false),
                        TestSession.mkdir(prefix + "right"),
                        TestSession.mkdir(prefix + "removed"));
        for (Mutation m : before) {
            MutationResult result = session.mutate(m);
            if (result.getErrno() != 0) {
                throw new AssertionError(m + " " + result);
            }
        }
    }

    /** To be executed in this order; all but the last succeed. */
    List<Mutation> mutations() {
        return List.of(
                create("created", true),
                TestSession.mkdir(prefix + "directory"),
                create("own", false).toBuilder().setOwnInode(ids.getFirst()).build(),
                TestSession.mkdir(prefix + "own-directory").toBuilder()
                        .setOwnInode(ids.getLast())
                        .build(),
                mutation()
                        .setSymlink(
                                SymlinkOp.newBuilder()
                                        .setParent(ROOT)
                                        .setName(name("symlink"))
                                        .setTarget(VALUE))
                        .build(),
                mutation()
                        .setMknod(
                                MknodOp.newBuilder()
                                        .setParent(ROOT)
                                        .setName(name("fifo"))
                                        .setMode(0010644))
                        .build(),
                mutation()
                        .setLink(
                                LinkOp.newBuilder()
                                        .setInode(file)
                                        .setNewParent(ROOT)
                                        .setNewName(name("link")))
                        .build(),
                TestSession.unlink(prefix + "unlinked"),
                mutation()
                        .setRmdir(RmdirOp.newBuilder().setParent(ROOT).setName(name("removed")))
                        .build(),
                rename("from", "to", 0),
                rename("left", "right", EXCHANGE),
                mutation()
                        .setSetAttr(
                                SetAttrOp.newBuilder().setInode(file).setMode(0600).setSize(100))
                        .build(),
                TestSession.setXattr(file, "user.new", VALUE),
                mutation()
                        .setRemoveXattr(
                                RemoveXattrOp.newBuilder()
                                        .setInode(file)
                                        .setName(ByteString.copyFromUtf8("user.gone")))
                        .build(),
                TestSession.open(file),
                TestSession.acquireAppend(file),
                TestSession.returnAppend(file, 6000),
                TestSession.grow(file, 7000),
                TestSession.raiseCeiling(file, 1L << 30),
                // A move needs a second pool: its other steps are in MovesTest.
                mutation()
                        .setMove(MoveOp.newBuilder().setInode(file).setStep(MoveStep.MOVE_ABORT))
                        .build(),
                mutation()
                        .setSetLock(
                                SetLockOp.newBuilder()
                                        .setLock(
                                                FileLock.newBuilder()
                                                        .setInode(file)
                                                        .setOwner(7)
                                                        .setExclusive(true)
                                                        .setStart(10)
                                                        .setEnd(19)))
                        .build(),
                mutation()
                        .setRelease(
                                ReleaseOp.newBuilder()
                                        .setInode(file)
                                        .setOpens(1)
                                        .setGrow(
                                                GrowOp.newBuilder()
                                                        .setInode(file)
                                                        .setSize(8000)
                                                        .setMtime(
                                                                Timespec.newBuilder()
                                                                        .setSeconds(9))))
                        .build(),
                mutation().setReturnIds(ReturnIdsOp.getDefaultInstance()).build(),
                TestSession.acquireIds(1), // the next one who begins with this session returns it
                TestSession.unlink(prefix + "nothing"));
    }

    /** The same, each in a batch of its own. */
    List<MutateRequest> single(TestSession session) {
        List<MutateRequest> batches = new ArrayList<>();
        for (Mutation m : mutations()) {
            batches.add(session.batch(session.next++, m));
        }
        return batches;
    }

    private Mutation create(String name, boolean open) {
        return TestSession.create(prefix + name, open);
    }

    private Mutation rename(String from, String to, int flags) {
        return mutation()
                .setRename(
                        RenameOp.newBuilder()
                                .setParent(ROOT)
                                .setName(name(from))
                                .setNewParent(ROOT)
                                .setNewName(name(to))
                                .setFlags(flags))
                .build();
    }

    private ByteString name(String name) {
        return ByteString.copyFromUtf8(prefix + name);
    }

    private static Mutation.Builder mutation() {
        return TestSession.mutation();
    }
}
