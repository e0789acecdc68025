package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.replication.Ops.Answer;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.wal.Completeness;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A primary that brings a learner up to date, which is disk 2. */
class LearnersTest {
    private static final long COPIED = 5;
    private static final ContentHead HEAD =
            new ContentHead(new Key(COPIED, 0), new ChunkVersion(3, 1), 0, 4096);

    private final RecordingOutputs out = new RecordingOutputs(new SimStore(Ops.PG));

    /** What is wanted of the learner, with the arguments of the last time. */
    private final Map<String, Object[]> wanted = new HashMap<>();

    private RecoveryOutputs.@Nullable Step copy;

    private final PgReplica replica =
            new PgReplica(Ops.PG, 1, PgLimits.DEFAULT, out, new SpaceLedger(0, 1 << 20));

    private Object[] wanted(String call) {
        return Objects.requireNonNull(wanted.remove(call), () -> "no " + call);
    }

    @BeforeEach
    void record() {
        out.recovery =
                RecordingOutputs.recovery((_, method, args) -> {
                    wanted.put(method.getName(), args == null ? new Object[0] : args);
                    return method.getReturnType() == boolean.class ? true : null;
                });
    }

    /** It lacks a chunk, which is being copied. */
    private void copies() {
        replica.onMap(3, 3, new PgMembers(List.of(1), List.of(2), 1));
        out.sync(replica);
        assertThat(replica.state()).isEqualTo(PgState.ACTIVE);
        replica.tick(1_000_000_000L);
        long asked = (long) wanted("sendAsk")[2];
        replica.onLearnerHistory(
                2, 3, asked, new PgHistory(0, 0, 0, List.of(), Completeness.NOTHING));
        wanted("readEntriesFor");
        replica.onEntriesFor(2, 3, 0, List.of(out.store.get(1)));
        replica.onPrepareReply(2, 3, 1, Ops.space(1 << 20));
        listed(3, List.of());
        copy = (RecoveryOutputs.Step) wanted("copy")[4];
    }

    /** A chunk is at the primary; with what is at the learner. */
    private void listed(long epoch, List<ContentHead> there) {
        long page = (long) wanted("listContent")[1];
        replica.onOwnContent(epoch, new ContentPage(page, List.of(HEAD), true));
        replica.onPeerContent(2, epoch, new ContentPage(page, there, true));
    }

    private Answer delete(long... inodes) {
        ByteBuf payload = Unpooled.buffer();
        DeleteInodesFormat.encode(inodes, payload);
        Answer answer = new Answer();
        replica.onOperation(DataOp.deleteInodes(Ops.PG, 1, inodes.length, 3), payload, answer);
        return answer;
    }

    /** Else one chunk after the other would keep space from being freed until all are copied. */
    @Test
    void deletionsOfOtherInodesDoNotWaitForACopy() {
        copies();
        assertThat(delete(COPIED + 1, COPIED + 2).failure).isNull();
        assertThat(delete(COPIED).refusal().detail()).contains("is being copied");
        assertThat(delete(COPIED + 1, COPIED).refusal().detail()).contains("is being copied");
    }

    /** What is logged there behind an operation is void if that is dropped, the mark too. */
    @Test
    void aLearnerJoinsOnceAllIsCommittedBehindWhichItBecameComplete() {
        copies();
        assertThat(delete(COPIED + 1).failure).isNull();
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        Objects.requireNonNull(copy).done();
        ((RecoveryOutputs.Step) wanted("sendCompleted")[3]).done();
        replica.tick(2_000_000_000L);
        assertThat(replica.committedSequence()).isEqualTo(1);
        assertThat(wanted).doesNotContainKey("askToJoin");
        assertThat(replica.learners()).contains("FOLLOWS");
        out.sync(replica);
        assertThat(replica.committedSequence()).isEqualTo(2);
        assertThat(wanted("askToJoin")[0]).isEqualTo(2);
    }

    /** What it missed is counted; what is written since it came back is sent to every replica. */
    @Test
    void operationsThatALearnerMissedAreToldOf() {
        replica.onMap(3, 3, new PgMembers(List.of(1), List.of(2), 1));
        out.sync(replica);
        write(1, 100);
        out.sync(replica);
        replica.tick(1_000_000_000L);
        long asked = (long) wanted("sendAsk")[2];
        replica.onLearnerHistory(2, 3, asked, new PgHistory(0, 0, 0, List.of(), Completeness.ALL));
        wanted("readEntriesFor");
        replica.onEntriesFor(2, 3, 0, List.of(out.store.get(1), out.store.get(2)));
        assertThat(wanted("sentMissed")).containsExactly(100);
        write(2, 50);
        assertThat(wanted).doesNotContainKey("sentMissed");
    }

    private void write(long number, int length) {
        Answer answer = new Answer();
        replica.onOperation(
                Ops.write(7, number, 0, 0, length),
                Unpooled.wrappedBuffer(new byte[length]),
                answer);
        assertThat(answer.failure).isNull();
    }

    /** A primary that comes after this one knows it from the learner only. */
    @Test
    void aMemberThatLacksSomethingLogsThatNothingOfItCounts() {
        replica.onMap(3, 3, PgMembers.allInSync(1, 2));
        replica.onPeerHistory(2, 3, new PgHistory(0, 0, 0, List.of()), Ops.space(1 << 20));
        replica.onPrepareReply(2, 3, 1, Ops.space(1 << 20));
        out.sync(replica);
        assertThat(replica.onMemberStale(2, 3)).isTrue();

        PgHistory before = new PgHistory(3, 1, 1, List.of(new EpochStart(3, 1)));
        begins(4, before);
        assertThat(((Reset) wanted("sendReset")[2]).distrusted()).isTrue();
        begins(5, before); // nobody knows whether it has logged it
        Object[] again = wanted("sendReset");
        Reset to = (Reset) again[2];
        assertThat(to.distrusted()).isTrue();
        ((RecoveryOutputs.Step) again[3]).done();
        listed(5, List.of(HEAD));
        assertThat(wanted).as("what is the same is not copied").doesNotContainKey("copy");

        EpochStart start = new EpochStart(to.epoch(), to.sequence());
        begins(
                6,
                new PgHistory(
                        to.epoch(),
                        to.sequence(),
                        to.sequence(),
                        List.of(start),
                        Completeness.NOTHING));
        assertThat(wanted).doesNotContainKey("sendReset");
        wanted("readEntriesFor");
        replica.onEntriesFor(2, 6, to.sequence(), List.of(out.store.get(replica.lastSequence())));
        listed(6, List.of(HEAD));
        assertThat(wanted).as("who does not know what it lacked").containsKey("copy");
    }

    /** In a new epoch the learner tells what it has. */
    private void begins(long epoch, PgHistory history) {
        wanted.clear();
        replica.onMap(epoch, epoch, new PgMembers(List.of(1), List.of(2), 1));
        out.sync(replica);
        assertThat(replica.state()).isEqualTo(PgState.ACTIVE);
        replica.tick(epoch * 1_000_000_000L);
        long asked = (long) wanted("sendAsk")[2];
        replica.onLearnerHistory(2, epoch, asked, history);
    }
}
