package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.AnsweredFormat;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.replication.Ops.Answer;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.replication.RecoveryOutputs.Step;
import io.cairn.dataserver.wal.Completeness;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A learner begins with what it shares with the primary, known committed or not. */
class LearnerTest {
    private static final long ALL = Long.MAX_VALUE;

    private final RecordingOutputs out = new RecordingOutputs(new SimStore(Ops.PG));

    /** With operations 1 to 4 of epoch 3, 1 to 2 of them known committed, a learner in epoch 5. */
    private PgReplica learner() {
        PgReplica replica =
                new PgReplica(Ops.PG, 2, PgLimits.DEFAULT, out, new SpaceLedger(0, 1 << 20));
        replica.onMap(3, 3, PgMembers.allInSync(1, 2));
        for (long s = 1; s <= 4; s++) {
            replica.onPrepare(new Prepare(2, 3, s == 1 ? 0 : 3, 0, Ops.entry(3, s)), new Answer());
        }
        out.sync(replica);
        replica.onCommit(3, 2);
        replica.onMap(5, 5, new PgMembers(List.of(1, 3), List.of(2), 1));
        out.takeActions();
        return replica;
    }

    private static Answer ask(PgReplica replica, long number, long shared) {
        Answer answer = new Answer();
        replica.onAsk(5, number, shared, answer);
        return answer;
    }

    @Test
    void tellsOfWhatItDoesNotKnowCommittedAndKeepsIt() {
        PgReplica replica = learner();
        PgHistory told = ask(replica, 1, ALL).told();
        assertThat(told.lastSequence()).isEqualTo(4);
        assertThat(told.committedSequence()).isEqualTo(2);
        assertThat(told.epochAt(4)).isEqualTo(3);
        assertThat(out.takeActions()).isEmpty();
    }

    @Test
    void dropsWhatThePrimaryDoesNotShareAndAnswersThen() {
        PgReplica replica = learner();
        ask(replica, 1, ALL);
        Answer second = ask(replica, 2, 3);
        assertThat(out.takeActions()).containsExactly("drop after 3");
        assertThat(second.answers).isZero();
        Answer meanwhile = new Answer();
        replica.onPrepare(new Prepare(2, 5, 3, 3, Ops.entry(5, 4)), meanwhile);
        assertThat(meanwhile.failure).as("while it drops").isNotNull();
        out.store.dropTail(3);
        replica.onTailDropped(3);
        assertThat(second.told().lastSequence()).isEqualTo(3);
        Answer taken = new Answer();
        replica.onPrepare(new Prepare(2, 5, 3, 3, Ops.entry(5, 4)), taken);
        assertThat(taken.appended).isTrue();
    }

    /** Nor does a primary of an older release, which says nothing of what is shared. */
    @Test
    void neverDropsWhatItKnowsCommitted() {
        PgReplica replica = learner();
        ask(replica, 1, 0);
        assertThat(out.takeActions()).containsExactly("drop after 2");
    }

    /** Else a question that comes late would take away what was sent since. */
    @Test
    void dropsNothingForAQuestionThatIsNotNewer() {
        PgReplica replica = learner();
        ask(replica, 2, ALL);
        assertThat(ask(replica, 2, 3).failure).isNotNull();
        assertThat(ask(replica, 1, 3).failure).isNotNull();
        assertThat(out.takeActions()).isEmpty();
    }

    /** Whichever primary asks then. */
    @Test
    void ofOneThatIsDistrustedNothingCounts() {
        RecoveryOutputs others = out.recovery;
        out.recovery =
                RecordingOutputs.recovery((_, method, args) -> {
                    if (!method.getName().equals("reset")) {
                        return method.invoke(others, args);
                    }
                    ((Step) args[1]).done();
                    return null;
                });
        PgReplica replica = learner();
        ask(replica, 1, ALL);
        AtomicInteger done = new AtomicInteger();
        replica.onReset(
                5,
                new Reset(2, 4, 9, List.of(), true),
                new Step() {
                    @Override
                    public void done() {
                        done.incrementAndGet();
                    }

                    @Override
                    public void failed(RpcStatus status) {
                        throw new AssertionError(status);
                    }
                });
        assertThat(done).hasValue(1);
        assertThat(ask(replica, 3, ALL).told().content()).isEqualTo(Completeness.NOTHING);
        replica.onMap(6, 6, new PgMembers(List.of(1, 3), List.of(2), 1));
        Answer answer = new Answer();
        replica.onAsk(6, 1, ALL, answer);
        assertThat(answer.told().content()).isEqualTo(Completeness.NOTHING);
    }

    /** From a primary that keeps more than the log takes: nothing here must break by it. */
    @Test
    void refusesToBeginAnewWithMoreAnsweredNumbersThanTheLogTakes() {
        PgReplica replica = learner();
        List<Answered> tooMany =
                List.of(new Answered(7, 0, new long[AnsweredFormat.MAX_BYTES / Long.BYTES]));
        AtomicReference<RpcStatus> failure = new AtomicReference<>();
        Step step =
                new Step() {
                    @Override
                    public void done() {
                        throw new AssertionError("it was done");
                    }

                    @Override
                    public void failed(RpcStatus status) {
                        failure.set(status);
                    }
                };
        replica.onReset(5, new Reset(1, 4, 9, tooMany, false), step);
        assertThat(failure.get().errno()).isEqualTo(Errno.EAGAIN);
        assertThat(ask(replica, 2, ALL).told().lastSequence()).isEqualTo(4);
    }
}
