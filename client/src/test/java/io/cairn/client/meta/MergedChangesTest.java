package io.cairn.client.meta;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.base.AttrChanges;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.RenameOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.seed.TestSeed;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Changes of attributes that become one. */
class MergedChangesTest {
    private static final int ROUNDS = 20_000;
    private static final long SESSION = 3;

    private final MutationQueue queue = new MutationQueue(100, 100_000);

    private static Timespec time(long seconds, int nanos) {
        return Timespec.newBuilder().setSeconds(seconds).setNanos(nanos).build();
    }

    private static Mutation mutation(SetAttrOp.Builder op, long seconds) {
        return Mutation.newBuilder().setTime(time(seconds, 0)).setSetAttr(op).build();
    }

    private static PendingMutation pending(Mutation mutation, long session) {
        return new PendingMutation(mutation, MetaClient.never(), session);
    }

    private static PendingMutation chmod(long inode, int mode, long seconds) {
        return pending(
                mutation(SetAttrOp.newBuilder().setInode(inode).setMode(mode), seconds), SESSION);
    }

    private PendingMutation added(PendingMutation pending) {
        queue.add(pending);
        return pending;
    }

    private static SetAttrOp.Builder random(Random random) {
        SetAttrOp.Builder op = SetAttrOp.newBuilder().setInode(7);
        if (random.nextBoolean()) {
            op.setMode(random.nextInt(010000));
        }
        if (random.nextInt(3) == 0) {
            op.setUid(random.nextInt(3));
        }
        if (random.nextInt(3) == 0) {
            op.setGid(random.nextInt(3));
        }
        if (random.nextBoolean()) {
            op.setMtime(time(random.nextInt(3), random.nextInt(3)));
        }
        if (random.nextBoolean()) {
            op.setAtime(time(random.nextInt(3), random.nextInt(3)));
        }
        if (random.nextInt(10) == 0) {
            op.setMtimeNow(true);
        }
        if (random.nextInt(10) == 0) {
            op.setKillSuidSgid(true);
        }
        return op;
    }

    @Test
    void bothTogetherAreWhatTheyAreOneAfterTheOther() {
        Random random = TestSeed.random("MergedChangesTest");
        int merged = 0;
        for (int i = 0; i < ROUNDS; i++) {
            Attr.Builder before =
                    Attr.newBuilder()
                            .setMode(Mode.REGULAR | random.nextInt(010000))
                            .setMtime(time(random.nextInt(3), 1))
                            .setCtime(time(random.nextInt(10), random.nextInt(3)));
            Mutation one = mutation(random(random), 20);
            Mutation two = mutation(random(random), 30);
            Attr.Builder apart = before.clone();
            AttrChanges.apply(one.getSetAttr(), one.getTime(), apart);
            AttrChanges.apply(two.getSetAttr(), two.getTime(), apart);
            @Nullable Mutation both = MergedChanges.of(one, two);
            if (both != null) {
                merged++;
                Attr.Builder together = before.clone();
                AttrChanges.apply(both.getSetAttr(), both.getTime(), together);
                assertThat(together.build())
                        .as("%s and %s as %s", one, two, both)
                        .isEqualTo(apart.build());
            }
        }
        assertThat(merged).isGreaterThan(ROUNDS / 4);
    }

    @Test
    void whatIsOfAnotherFileOrCallerStaysApart() {
        Mutation one = mutation(SetAttrOp.newBuilder().setInode(7).setMode(0600), 1);
        Mutation other = mutation(SetAttrOp.newBuilder().setInode(8).setMode(0600), 2);
        Mutation cut = mutation(SetAttrOp.newBuilder().setInode(7).setSize(3), 2);
        Mutation root = one.toBuilder().setCredentials(Credentials.newBuilder().setUid(5)).build();
        assertThat(MergedChanges.of(one, other)).isNull();
        assertThat(MergedChanges.of(one, cut)).isNull();
        assertThat(MergedChanges.of(cut, one)).isNull();
        assertThat(MergedChanges.of(one, root)).isNull();
        assertThat(MergedChanges.of(Mutation.getDefaultInstance(), one)).isNull();
    }

    @Test
    void aChangeGoesIntoOneThatWaits() {
        PendingMutation first = added(chmod(7, 0600, 1));
        added(
                pending(
                        Mutation.newBuilder()
                                .setOwnInode(8)
                                .setCreate(CreateOp.newBuilder())
                                .build(),
                        SESSION));
        PendingMutation second = chmod(7, 0640, 2);
        assertThat(queue.merge(second)).isTrue();
        assertThat(queue.depth()).isEqualTo(2);
        assertThat(first.mutation().getSetAttr().getMode()).isEqualTo(0640);
        assertThat(first.mutation().getTime()).isEqualTo(time(2, 0));
        first.answered(MutationResult.getDefaultInstance(), SESSION);
        assertThat(second.answer()).isCompleted();
        assertThat(second.session()).isEqualTo(SESSION);
    }

    @Test
    void whoIsInAnotherIsLostWithIt() {
        PendingMutation first = added(chmod(7, 0600, 1));
        PendingMutation second = chmod(7, 0640, 2);
        assertThat(queue.merge(second)).isTrue();
        first.lost(new FsException(Errno.EIO, "the session has ended"));
        assertThat(second.answer()).isCompletedExceptionally();
        assertThat(second.reply()).isCompletedExceptionally();
    }

    @Test
    void notBeforeSomethingElseThatMayConcernTheFile() {
        for (Mutation between :
                new Mutation[] {
                    Mutation.newBuilder().setGrow(GrowOp.newBuilder().setInode(7)).build(),
                    Mutation.newBuilder().setRename(RenameOp.getDefaultInstance()).build(),
                    Mutation.newBuilder().setCreate(CreateOp.getDefaultInstance()).build(),
                }) {
            added(chmod(7, 0600, 1));
            added(pending(between, SESSION));
            assertThat(queue.merge(chmod(7, 0640, 2))).as("%s", between).isFalse();
        }
    }

    @Test
    void notIntoOneThatHasANumberOrIsOfAnotherSession() {
        added(chmod(7, 0600, 1));
        Objects.requireNonNull(queue.nextBatch());
        assertThat(queue.merge(chmod(7, 0640, 2))).isFalse();
        added(pending(mutation(SetAttrOp.newBuilder().setInode(7).setMode(0600), 1), SESSION + 1));
        assertThat(queue.merge(chmod(7, 0640, 2))).isFalse();
    }
}
