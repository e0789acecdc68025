package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.rpc.Advice;
import io.cairn.dataserver.replication.Ops.Answer;
import io.cairn.dataserver.store.PgLogEntry;
import org.junit.jupiter.api.Test;

/** A backup: order, duplicates, gaps, epochs, tails that differ. */
class BackupTest {
    private final RecordingOutputs out = new RecordingOutputs(new SimStore(Ops.PG));

    private PgReplica backup(long epoch) {
        PgReplica replica =
                new PgReplica(Ops.PG, 2, PgLimits.DEFAULT, out, new SpaceLedger(0, 1 << 20));
        replica.onMap(epoch, epoch, PgMembers.allInSync(1, 2, 3));
        out.takeActions();
        return replica;
    }

    private static Answer prepare(
            PgReplica replica, long pgEpoch, long previousEpoch, long committed, PgLogEntry entry) {
        Answer answer = new Answer();
        replica.onPrepare(new Prepare(2, pgEpoch, previousEpoch, committed, entry), answer);
        return answer;
    }

    @Test
    void answersWhenDurable() {
        PgReplica replica = backup(3);
        Answer answer = prepare(replica, 3, 0, 0, Ops.entry(3, 1));
        assertThat(answer.answers).isZero();
        out.sync(replica);
        assertThat(answer.durable).isEqualTo(1);
        assertThat(answer.appended).isTrue();
    }

    @Test
    void takesADuplicateOnce() {
        PgReplica replica = backup(3);
        prepare(replica, 3, 0, 0, Ops.entry(3, 1));
        Answer duplicate = prepare(replica, 3, 0, 0, Ops.entry(3, 1));
        out.sync(replica);
        assertThat(duplicate.durable).isEqualTo(1);
        assertThat(duplicate.appended).as("was here").isFalse();
        assertThat(out.store.size()).isEqualTo(1);
    }

    /** Refused before it is logged, so that the members' histories stay the same. */
    @Test
    void refusesWhatItsDiskHasNoRoomForUntilItHas() {
        PgReplica replica = backup(3);
        prepare(replica, 3, 0, 0, Ops.entry(3, 1));
        out.room = false;
        Answer refused = prepare(replica, 3, 3, 0, Ops.entry(3, 2));
        assertThat(refused.refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(out.store.size()).isEqualTo(1);
        assertThat(replica.lastSequence()).isEqualTo(1);
        assertThat(prepare(replica, 3, 0, 0, Ops.entry(3, 1)).failure).as("has it").isNull();
        assertThat(prepare(replica, 3, 3, 0, Ops.entry(3, 3)).gap).isEqualTo(1);
        out.room = true;
        Answer taken = prepare(replica, 3, 3, 0, Ops.entry(3, 2));
        out.sync(replica);
        assertThat(taken.durable).isEqualTo(2);
    }

    @Test
    void refusesAGap() {
        PgReplica replica = backup(3);
        prepare(replica, 3, 0, 0, Ops.entry(3, 1));
        assertThat(prepare(replica, 3, 3, 0, Ops.entry(3, 3)).gap).isEqualTo(1);
        assertThat(out.store.size()).isEqualTo(1);
    }

    @Test
    void refusesOlderEpochsAndGetsTheMapForNewerOnes() {
        PgReplica replica = backup(3);
        Answer older = prepare(replica, 2, 0, 0, Ops.entry(2, 1));
        assertThat(older.failure).isNotNull();
        assertThat(older.refusal().advice()).isEqualTo(Advice.REFRESH_MAP);
        Answer newer = prepare(replica, 4, 0, 0, Ops.entry(4, 1));
        assertThat(newer.failure).isNotNull();
        assertThat(newer.refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(out.takeActions()).containsExactly("need map");
        assertThat(out.store.size()).isZero();
    }

    @Test
    void refusesEverythingBeforeItHasAMap() {
        PgReplica replica =
                new PgReplica(Ops.PG, 2, PgLimits.DEFAULT, out, new SpaceLedger(0, 1 << 20));
        assertThat(prepare(replica, 3, 0, 0, Ops.entry(3, 1)).failure).isNotNull();
        assertThat(out.store.size()).isZero();
    }

    @Test
    void commitsOnlyWhatIsKnownToBeThePrimarysHistory() {
        out.append(Ops.entry(1, 1));
        out.append(Ops.entry(1, 2));
        out.store.sync(2);
        PgReplica replica = backup(3);
        assertThat(replica.onCommit(3, 2)).isNull();
        assertThat(out.store.committed()).isZero();
        prepare(replica, 3, 1, 2, Ops.entry(3, 3));
        assertThat(out.store.committed()).isEqualTo(2);
    }

    /** Of a learner: nobody waits for it, and what a primary has told it does not tell again. */
    @Test
    void whatIsCommittedBeforeItIsDurableHereIsCommittedOnceItIs() {
        PgReplica replica = backup(3);
        prepare(replica, 3, 0, 0, Ops.entry(3, 1));
        assertThat(replica.onCommit(3, 1)).isNull();
        assertThat(out.store.committed()).isZero();
        out.sync(replica);
        assertThat(out.store.committed()).isEqualTo(1);
    }

    @Test
    void aTailThatDiffersIsDroppedAndReplaced() {
        for (int s = 1; s <= 3; s++) {
            out.append(Ops.entry(1, s));
        }
        out.store.sync(3);
        out.store.commit(1);
        PgReplica replica = backup(3);
        Answer first = prepare(replica, 3, 1, 1, Ops.entry(2, 2));
        assertThat(out.takeActions()).containsExactly("drop after 1");
        assertThat(first.failure).isNotNull();
        assertThat(prepare(replica, 3, 1, 1, Ops.entry(2, 2)).failure).isNotNull();
        out.store.dropTail(1);
        replica.onTailDropped(1);
        Answer second = prepare(replica, 3, 1, 1, Ops.entry(2, 2));
        out.sync(replica);
        assertThat(second.durable).isEqualTo(2);
        assertThat(out.store.state().lastEpoch()).isEqualTo(2);
    }

    @Test
    void aTailBeforeThePrimarysStartIsNotTakenForItsHistory() {
        for (int s = 1; s <= 3; s++) {
            out.append(Ops.entry(1, s));
        }
        out.store.sync(3);
        out.store.commit(1);
        PgReplica replica = backup(3);
        assertThat(prepare(replica, 3, 2, 1, Ops.entry(3, 4)).gap).isEqualTo(1);
    }

    @Test
    void aQueryIsAnsweredWhenEverythingIsDurable() {
        PgReplica replica = backup(3);
        prepare(replica, 3, 0, 0, Ops.entry(3, 1));
        Answer answer = new Answer();
        replica.onQuery(3, answer);
        assertThat(answer.answers).isZero();
        out.sync(replica);
        assertThat(answer.history).isNotNull();
        assertThat(answer.told().lastSequence()).isEqualTo(1);
    }

    @Test
    void aNewEpochRefusesWhatWaited() {
        PgReplica replica = backup(3);
        Answer answer = prepare(replica, 3, 0, 0, Ops.entry(3, 1));
        replica.onMap(4, 4, PgMembers.allInSync(1, 2, 3));
        assertThat(answer.failure).isNotNull();
    }
}
