package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.replication.Ops.Answer;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** From a new epoch to an active primary. */
class PeeringTest {
    private final RecordingOutputs out = new RecordingOutputs(new SimStore(Ops.PG));
    private final SpaceLedger ledger = new SpaceLedger(0, 1 << 20);

    private PgReplica primary(long committed, PgLogEntry... log) {
        for (PgLogEntry e : log) {
            out.append(e);
        }
        out.store.sync(log.length);
        out.store.commit(committed);
        PgReplica replica = new PgReplica(Ops.PG, 1, PgLimits.DEFAULT, out, ledger);
        replica.onMap(5, 5, PgMembers.allInSync(1, 2, 3));
        assertThat(out.takeActions()).containsExactly("QUERYING", "query 2 in 5", "query 3 in 5");
        return replica;
    }

    private static PgHistory history(long committed, long last, EpochStart... starts) {
        long epoch = starts.length == 0 ? 0 : starts[starts.length - 1].epoch();
        return new PgHistory(epoch, last, committed, List.of(starts));
    }

    private static EpochStart from(long epoch, long sequence) {
        return new EpochStart(epoch, sequence);
    }

    @Test
    void waitsForEveryMember() {
        PgReplica replica = primary(0);
        replica.onPeerHistory(2, 5, history(0, 0), Ops.space(0));
        assertThat(replica.state()).isEqualTo(PgState.QUERYING);
        replica.tick(10_000_000_000L);
        assertThat(out.takeActions()).as("it is being asked").isEmpty();
        replica.onPeerLost(3, 5);
        replica.tick(11_000_000_000L);
        assertThat(out.takeActions()).containsExactly("query 3 in 5");
        replica.tick(10_000_000_000L + PgLimits.DEFAULT.resendNanos());
        assertThat(out.takeActions()).as("not yet").doesNotContain("query 3 in 5");
        replica.tick(11_000_000_001L + PgLimits.DEFAULT.resendNanos());
        assertThat(out.takeActions()).contains("query 3 in 5");
    }

    /**
     * It answers once its log is durable, which it does not become; that it is up is not enough.
     */
    @Test
    void aMemberWhoseLogIsStuckIsTold() {
        PgReplica replica = primary(0);
        replica.onPeerHistory(2, 5, history(0, 0), Ops.space(0));
        RecordingOutputs others = new RecordingOutputs(new SimStore(Ops.PG));
        PgReplica stuck = new PgReplica(Ops.PG, 3, PgLimits.DEFAULT, others, ledger);
        stuck.onMap(4, 4, PgMembers.allInSync(2, 3));
        stuck.onPrepare(new Prepare(3, 4, 0, 0, Ops.entry(4, 1)), new Answer());
        stuck.onMap(5, 5, PgMembers.allInSync(1, 2, 3));
        List<Answer> asked = new ArrayList<>();
        List<String> told = new ArrayList<>();
        asked.add(new Answer());
        stuck.onQuery(5, asked.getLast());
        for (int i = 1; i <= 50; i++) {
            replica.tick(i * 100_000_000L);
            for (String action : out.takeActions()) {
                if (action.startsWith("query 3")) {
                    asked.add(new Answer());
                    stuck.onQuery(5, asked.getLast());
                } else {
                    told.add(action);
                }
            }
            if (asked.removeIf(a -> a.failure != null)) {
                replica.onPeerRefused(3, 5);
            }
        }
        assertThat(replica.state()).isEqualTo(PgState.QUERYING);
        assertThat(told).contains("silent 3 in 5");
    }

    @Test
    void takesOverTheLongestHistory() {
        PgReplica replica = primary(1, Ops.entry(1, 1));
        replica.onPeerHistory(2, 5, history(1, 3, from(1, 1), from(2, 3)), Ops.space(0));
        replica.onPeerHistory(3, 5, history(1, 1, from(1, 1)), Ops.space(0));
        assertThat(out.takeActions()).containsExactly("FETCHING", "fetch from 2 after 1");
        replica.onFetched(2, 5, List.of(Ops.entry(1, 2)));
        assertThat(out.takeActions()).containsExactly("fetch from 2 after 2");
        replica.onFetched(2, 5, List.of(Ops.entry(2, 3)));
        assertThat(out.takeActions()).containsExactly("RESENDING");
        assertThat(out.takePrepares())
                .extracting(p -> p.targetDisk() + ": " + p.entry().sequence())
                .containsExactly("2: 4", "3: 2", "3: 3", "3: 4");
    }

    /** Before anything that is admitted in the epoch, and nothing is until it is committed. */
    @Test
    void aSplitThatIsDueIsTheFirstOperationOfTheEpoch() {
        out.split = new Split(Ops.PG + 1, 1, 5);
        PgReplica replica = primary(1, Ops.entry(1, 1));
        for (int backup : new int[] {2, 3}) {
            replica.onPeerHistory(backup, 5, history(1, 1, from(1, 1)), Ops.space(0));
        }
        PgLogEntry first = out.takePrepares().getFirst().entry();
        assertThat(first.op().type()).isEqualTo(DataOpType.SPLIT);
        assertThat(first.epoch()).isEqualTo(5);
        assertThat(first.sequence()).isEqualTo(2);
        assertThat(SplitFormat.decode(first.payload())).isEqualTo(out.split);
        out.sync(replica);
        replica.onPrepareReply(2, 5, 2, Ops.space(0));
        assertThat(replica.state()).isEqualTo(PgState.RESENDING);
        replica.onPrepareReply(3, 5, 2, Ops.space(0));
        assertThat(replica.state()).isEqualTo(PgState.ACTIVE);
        assertThat(replica.committedSequence()).isEqualTo(2);
    }

    /** Whoever has it, in whichever epoch it was logged. */
    @Test
    void aSplitThatTheHistoryHasIsNotLoggedAgain() {
        out.split = null;
        PgReplica replica = primary(1, Ops.entry(1, 1));
        replica.onPeerHistory(2, 5, history(1, 2, from(1, 1), from(4, 2)), Ops.space(0));
        replica.onPeerHistory(3, 5, history(1, 1, from(1, 1)), Ops.space(0));
        Split split = new Split(Ops.PG + 1, 1, 4);
        ByteBuf payload = Unpooled.buffer();
        SplitFormat.encode(split, payload);
        replica.onFetched(2, 5, List.of(new PgLogEntry(4, 2, DataOp.split(Ops.PG, 4), payload)));
        assertThat(out.takePrepares())
                .extracting(p -> p.targetDisk() + ": " + p.entry().op().type())
                .containsExactly("2: NOOP", "3: SPLIT", "3: NOOP");
    }

    @Test
    void dropsItsOwnTailWhereItDiffersFromTheLongest() {
        PgReplica replica = primary(1, Ops.entry(1, 1), Ops.entry(1, 2));
        PgHistory longest = history(1, 2, from(1, 1), from(2, 2));
        replica.onPeerHistory(2, 5, longest, Ops.space(0));
        replica.onPeerHistory(3, 5, longest, Ops.space(0));
        assertThat(out.takeActions()).containsExactly("FETCHING", "drop after 1");
        out.store.dropTail(1);
        replica.onTailDropped(1);
        assertThat(out.takeActions()).containsExactly("fetch from 2 after 1");
    }

    /** A primary with this log, one of whose backups has the first operation only. */
    private PgReplica readingAfterFirst(PgLogEntry... log) {
        PgReplica replica = primary(1, log);
        replica.onPeerHistory(2, 5, history(1, 1, from(1, 1)), Ops.space(0));
        replica.onPeerHistory(3, 5, history(1, log.length, from(1, 1)), Ops.space(0));
        assertThat(out.takeActions()).containsExactly("RESENDING", "read after 1");
        return replica;
    }

    @Test
    void readsWhatMembersLackFromItsOwnDisk() {
        PgLogEntry[] log = {Ops.entry(1, 1), Ops.entry(1, 2), Ops.entry(1, 3)};
        PgReplica replica = readingAfterFirst(log);
        replica.onEntries(List.of(log[1], log[2]));
        assertThat(out.takePrepares())
                .extracting(p -> p.targetDisk() + ": " + p.entry().sequence())
                .containsExactlyInAnyOrder("2: 2", "2: 3", "2: 4", "3: 4");
    }

    @Test
    void readsItsOwnDiskAgainAfterAFailure() {
        PgLogEntry[] log = {Ops.entry(1, 1), Ops.entry(1, 2), Ops.entry(1, 3)};
        PgReplica replica = readingAfterFirst(log);
        replica.onEntriesFailed();
        replica.tick(1);
        assertThat(out.takeActions()).as("not at once").doesNotContain("read after 1");
        replica.tick(20 * PgLimits.DEFAULT.askNanos() + 1);
        assertThat(out.takeActions()).contains("read after 1");
        replica.onEntries(List.of(log[1], log[2]));
        assertThat(out.takePrepares()).extracting(Prepare::targetDisk).contains(2, 3);
    }

    @Test
    void servesNobodyWhenAMemberLostWhatIsCommitted() {
        PgReplica replica = primary(2, Ops.entry(1, 1), Ops.entry(1, 2));
        replica.onPeerHistory(2, 5, history(0, 1, from(1, 1)), Ops.space(0));
        replica.onPeerHistory(3, 5, history(1, 2, from(1, 1)), Ops.space(0));
        assertThat(replica.state()).isEqualTo(PgState.DAMAGED);
    }

    @Test
    void whatWasReadForAnEarlierEpochOfADamagedGroupIsNotInFlight() {
        PgLogEntry[] log = {Ops.entry(1, 1), Ops.entry(1, 2), Ops.entry(1, 3)};
        PgReplica replica = readingAfterFirst(log);
        replica.onMap(6, 6, PgMembers.allInSync(1, 2, 3));
        out.sync(replica);
        replica.onPeerHistory(2, 6, history(0, 0), Ops.space(0));
        replica.onPeerHistory(3, 6, history(0, 0), Ops.space(0));
        assertThat(replica.state()).isEqualTo(PgState.DAMAGED);
        replica.onEntries(List.of(log[1], log[2], Ops.entry(5, 4)));
        assertThat(ledger.inFlightBytes()).isZero();
    }

    @Test
    void anOperationExecutedBeforeTheRestartIsNotExecutedAgain() {
        PgReplica replica = primary(0, Ops.entry(1, 1));
        PgHistory same = history(0, 1, from(1, 1));
        replica.onPeerHistory(2, 5, same, Ops.space(1 << 20));
        replica.onPeerHistory(3, 5, same, Ops.space(1 << 20));
        Ops.Answer early = new Ops.Answer();
        replica.onOperation(Ops.entry(1, 1).op(), Ops.entry(1, 1).payload(), early);
        assertThat(early.failure).as("not before it is committed").isNotNull();
        out.sync(replica);
        replica.onPrepareReply(2, 5, 2, Ops.space(1 << 20));
        replica.onPrepareReply(3, 5, 2, Ops.space(1 << 20));
        Ops.Answer retry = new Ops.Answer();
        replica.onOperation(Ops.entry(1, 1).op(), Ops.entry(1, 1).payload(), retry);
        assertThat(retry.done).isTrue();
        assertThat(replica.lastSequence()).isEqualTo(2);
    }

    @Test
    void historiesAgreeUpToTheLastSharedEpoch() {
        PgHistory a = history(1, 6, from(1, 1), from(2, 4));
        PgHistory b = history(2, 5, from(1, 1), from(3, 4));
        assertThat(a.commonSequence(b)).isEqualTo(3);
        assertThat(b.commonSequence(a)).isEqualTo(3);
        assertThat(b.longerThan(a)).isTrue();
        assertThat(a.commonSequence(history(0, 1, from(1, 1)))).isEqualTo(1);
        assertThat(history(3, 6, from(1, 1)).commonSequence(history(0, 2, from(1, 1))))
                .isEqualTo(PgHistory.NONE);
    }
}
