package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.replication.Ops.Answer;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An active primary with two backups: admission, commit, exactly-once, reads, resending. */
class PrimaryTest {
    private static final long MILLI = 1_000_000;
    private static final PgHistory EMPTY = new PgHistory(0, 0, 0, List.of());

    private final RecordingOutputs out = new RecordingOutputs(new SimStore(Ops.PG));
    private final SpaceLedger ledger = new SpaceLedger(0, 1 << 20);
    private final PgReplica replica =
            new PgReplica(
                    Ops.PG,
                    1,
                    new PgLimits(8, 1 << 20, 16, 100 * MILLI, MILLI, 1500 * MILLI, 3000 * MILLI),
                    out,
                    ledger);

    @BeforeEach
    void activate() {
        replica.onMap(3, 3, PgMembers.allInSync(1, 2, 3));
        replica.onPeerHistory(2, 3, EMPTY, Ops.space(1 << 20));
        replica.onPeerHistory(3, 3, EMPTY, Ops.space(1 << 20));
        backupsHave(1);
        out.sync(replica);
        assertThat(replica.state()).isEqualTo(PgState.ACTIVE);
        out.takeActions();
        out.takePrepares();
    }

    private void backupsHave(long sequence) {
        replica.onPrepareReply(2, 3, sequence, Ops.space(1 << 20));
        replica.onPrepareReply(3, 3, sequence, Ops.space(1 << 20));
    }

    private Answer submit(DataOp op) {
        Answer answer = new Answer();
        replica.onOperation(op, Unpooled.EMPTY_BUFFER, answer);
        return answer;
    }

    private Answer read(DataOp op) {
        Answer answer = new Answer();
        assertThat(replica.admitRead(op)).isNull();
        replica.onReadDone(replica.epoch(), op, answer);
        return answer;
    }

    @Test
    void aFullWindowOpensWhenTheSessionSaysWhatItHasAnswersTo() {
        for (int number = 1; number <= 16; number++) {
            Answer answer = submit(Ops.write(7, number, 1, number * 8, 8));
            out.sync(replica);
            backupsHave(1 + number);
            assertThat(answer.done).isTrue();
        }
        assertThat(submit(Ops.write(7, 17, 1, 0, 8)).refusal().errno()).isEqualTo(Errno.EAGAIN);

        Answer answer = submit(Ops.write(7, 18, 17, 0, 8));
        out.sync(replica);
        backupsHave(18);
        assertThat(answer.done).isTrue();
    }

    @Test
    void belowItsMinimumNothingIsAcknowledgedAndReadsAreServed() {
        Answer before = submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        replica.onMap(4, 4, new PgMembers(List.of(1), List.of(), 2));
        assertThat(before.refusal().advice()).isEqualTo(Advice.RETRY);
        out.sync(replica);
        assertThat(replica.state()).isEqualTo(PgState.ACTIVE);

        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(submit(Ops.write(7, 2, 1, 8, 8)).refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(read(Ops.read(0, 8)).done).isTrue();

        // The operation from before is there, and known once there are enough members again.
        replica.onMap(5, 5, new PgMembers(List.of(1, 2), List.of(), 2));
        replica.onPeerHistory(
                2,
                5,
                new PgHistory(4, 3, 3, List.of(new PgLogState.EpochStart(4, 3))),
                Ops.space(1 << 20));
        out.sync(replica);
        replica.onPrepareReply(2, 5, 4, Ops.space(1 << 20));
        assertThat(replica.state()).isEqualTo(PgState.ACTIVE);
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).done).isTrue();
    }

    /**
     * One that refuses for now says something, and one that nothing is asked of is not waited for.
     */
    @Test
    void aMemberThatSaysNothingWhileItIsWaitedForIsTold() {
        replica.tick(10_000 * MILLI);
        assertThat(silent()).as("the clock was not told before").isEmpty();
        submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        for (int i = 1; i <= 8; i++) {
            replica.onPeerRefused(3, 3);
            replica.tick((10_000 + i * 500) * MILLI);
        }
        assertThat(silent()).isEmpty();
        for (int i = 1; i <= 2; i++) {
            replica.tick((14_000 + i * 500) * MILLI);
        }
        assertThat(silent()).isEmpty();
        replica.onPeerLost(3, 3);
        replica.tick(15_500 * MILLI);
        assertThat(silent()).containsExactly("silent 3 in 3");
        replica.tick(16_000 * MILLI);
        assertThat(silent()).as("told again").containsExactly("silent 3 in 3");
    }

    /** Its disk may be slow: what it was sent is waited for longer than an answer. */
    @Test
    void aMemberThatAnswersAndTakesNothingIsToldLater() {
        replica.tick(10_000 * MILLI);
        submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        for (int i = 1; i <= 6; i++) {
            replica.tick((10_000 + i * 500) * MILLI);
            assertThat(out.takeActions())
                    .contains("commit 1 to 3")
                    .noneMatch(a -> a.startsWith("silent"));
            replica.onPeerAlive(3, 3);
        }
        replica.tick(13_500 * MILLI);
        assertThat(silent()).containsExactly("silent 3 in 3");
    }

    /** Its own loop stood still: the answers are there, and not read yet. */
    @Test
    void aPrimaryThatWasSuspendedTellsNothingOfOthers() {
        replica.tick(10_000 * MILLI);
        submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        replica.tick(10_500 * MILLI);
        replica.tick(20_000 * MILLI);
        replica.tick(20_500 * MILLI);
        assertThat(silent()).isEmpty();
    }

    /** What was told of silent members since the last call. */
    private List<String> silent() {
        return out.takeActions().stream().filter(a -> a.startsWith("silent")).toList();
    }

    @Test
    void answersWhenDurableOnEveryMemberAndNotBefore() {
        Answer answer = submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(out.takePrepares()).extracting(Prepare::targetDisk).containsExactly(2, 3);
        out.sync(replica);
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        assertThat(answer.answers).isZero();
        replica.onPrepareReply(3, 3, 2, Ops.space(1 << 20));
        assertThat(answer.done).isTrue();
        assertThat(out.store.committed()).isEqualTo(2);
    }

    @Test
    void repliesOfAnotherEpochDoNotCount() {
        Answer answer = submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        replica.onPrepareReply(3, 2, 2, Ops.space(1 << 20));
        assertThat(answer.answers).isZero();
    }

    @Test
    void committedTravelsWithTheNextPrepareOrAlone() {
        submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        backupsHave(2);
        out.takePrepares();
        replica.tick(MILLI);
        assertThat(out.takeActions()).containsExactly("commit 2 to 2", "commit 2 to 3");
        submit(Ops.write(7, 2, 1, 0, 8));
        assertThat(out.takePrepares())
                .extracting(Prepare::committedSequence)
                .containsExactly(2L, 2L);
    }

    @Test
    void aRetryInFlightJoinsAndALaterOneGetsTheFirstAnswer() {
        Answer first = submit(Ops.write(7, 1, 1, 0, 8));
        Answer joined = submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(joined.answers).isZero();
        assertThat(replica.lastSequence()).isEqualTo(2);
        out.sync(replica);
        backupsHave(2);
        assertThat(first.done && joined.done).isTrue();
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).done).isTrue();
        assertThat(replica.lastSequence()).isEqualTo(2);
    }

    @Test
    void anAcknowledgedNumberIsRefused() {
        submit(Ops.write(7, 5, 5, 0, 8));
        Answer stray = submit(Ops.write(7, 4, 1, 0, 8));
        assertThat(stray.failure).isNotNull();
        assertThat(stray.refusal().errno()).isEqualTo(Errno.EINVAL);
        assertThat(stray.refusal().advice()).isEqualTo(Advice.GIVE_UP);
    }

    @Test
    void aReadWaitsForWhatItOverlapsOnly() {
        submit(Ops.write(7, 1, 1, 4096, 100));
        assertThat(read(Ops.read(0, 4096)).done).isTrue();
        Answer waiting = read(Ops.read(4195, 10));
        assertThat(waiting.answers).isZero();
        out.sync(replica);
        backupsHave(2);
        assertThat(waiting.done).isTrue();
    }

    @Test
    void aReadIsNotStarvedByLaterWrites() {
        submit(Ops.write(7, 1, 1, 0, 8));
        Answer waiting = read(Ops.read(0, 8));
        submit(Ops.write(7, 2, 1, 0, 8));
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        replica.onPrepareReply(3, 3, 2, Ops.space(1 << 20));
        out.sync(replica);
        assertThat(waiting.done).isTrue();
    }

    /**
     * The backup lacks the cut as long as it is not committed: its data would show what was cut.
     */
    @Test
    void aBackupIsAskedOnlyForWhatItHas() {
        Answer cut = submit(DataOp.truncateInode(Ops.PG, Ops.read(0, 8).inode(), 1, 1));
        assertThat(replica.admitRead(Ops.read(0, 8))).isNull();
        Answer mayAsk = new Answer();
        replica.onReadFailed(3, mayAsk);
        submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(mayAsk.answers).isZero();
        out.sync(replica);
        replica.onPrepareReply(2, 3, 3, Ops.space(1 << 20));
        assertThat(mayAsk.answers).isZero();
        replica.onPrepareReply(3, 3, 2, Ops.space(1 << 20));
        assertThat(cut.done && mayAsk.done).as("what came later is not waited for").isTrue();
        Answer idle = new Answer();
        replica.onPrepareReply(3, 3, 3, Ops.space(1 << 20));
        replica.onReadFailed(3, idle);
        assertThat(idle.done).isTrue();
    }

    /** The store was asked before the tail was dropped: it may have shown what is void now. */
    @Test
    void aReadOfAnOlderEpochIsNotShown() {
        submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        assertThat(replica.admitRead(Ops.read(0, 8))).isNull();
        long admitted = replica.epoch();
        replica.onMap(5, 5, PgMembers.allInSync(1, 2, 3));
        PgHistory newer =
                new PgHistory(
                        4,
                        2,
                        1,
                        List.of(new PgLogState.EpochStart(3, 1), new PgLogState.EpochStart(4, 2)));
        replica.onPeerHistory(2, 5, newer, Ops.space(1 << 20));
        replica.onPeerHistory(3, 5, newer, Ops.space(1 << 20));
        assertThat(out.takeActions()).contains("drop after 1");
        out.store.dropTail(1);
        replica.onTailDropped(1);
        PgLogEntry noop = new PgLogEntry(4, 2, DataOp.noop(Ops.PG, 4), Unpooled.EMPTY_BUFFER);
        replica.onFetched(2, 5, List.of(noop));
        out.sync(replica);
        replica.onPrepareReply(2, 5, 3, Ops.space(1 << 20));
        replica.onPrepareReply(3, 5, 3, Ops.space(1 << 20));
        assertThat(replica.state()).isEqualTo(PgState.ACTIVE);

        Answer late = new Answer();
        replica.onReadDone(admitted, Ops.read(0, 8), late);
        assertThat(late.failure).isNotNull();
        assertThat(late.refusal().advice()).isEqualTo(Advice.RETRY);
        Answer lateElsewhere = new Answer();
        replica.onReadFailed(admitted, lateElsewhere);
        assertThat(lateElsewhere.failure).isNotNull();
    }

    @Test
    void withoutALeaseNothingIsServed() {
        submit(Ops.write(7, 1, 1, 0, 8));
        Answer waiting = read(Ops.read(0, 8));
        out.lease = false;
        assertThat(submit(Ops.write(7, 2, 1, 0, 8)).failure).isNotNull();
        assertThat(replica.admitRead(Ops.read(0, 8))).isNotNull();
        out.sync(replica);
        backupsHave(2);
        assertThat(waiting.failure).isNotNull();
        assertThat(waiting.refusal().advice()).isEqualTo(Advice.RETRY);
    }

    @Test
    void anOlderTruncateSequenceMustBeRefreshed() {
        out.truncateSequence = 4;
        Answer answer = submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(answer.failure).isNotNull();
        assertThat(answer.refusal().advice()).isEqualTo(Advice.REFRESH_INODE);
        assertThat(replica.admitRead(Ops.read(0, 8))).isNotNull();
    }

    @Test
    void aFullDiskRefusesWritesBeforeTheyGetASequenceAndTakesDeletes() {
        replica.onPrepareReply(3, 3, 1, Ops.space(4096));
        Answer refused = submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(refused.failure).isNotNull();
        assertThat(refused.refusal().errno()).isEqualTo(Errno.ENOSPC);
        assertThat(replica.lastSequence()).isEqualTo(1);
        assertThat(submit(DataOp.deleteInodes(Ops.PG, 0, 1, 1)).failure).isNull();
        out.admissible = 0;
        replica.onPrepareReply(3, 3, 1, Ops.space(1 << 20));
        assertThat(submit(Ops.write(7, 2, 1, 0, 8)).failure).isNotNull();
    }

    /** A deletion is acknowledged before it is flushed, so that its answer still says full. */
    @Test
    void anOldReportOfABackupRefusesNothingForGood() {
        replica.onPrepareReply(3, 3, 1, Ops.space(4096));
        replica.tick(2000 * MILLI);
        Answer waits = submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(waits.refusal().advice())
                .as("space may have been freed")
                .isEqualTo(Advice.RETRY);
        assertThat(out.takePrepares()).as("asks").hasSize(2);
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(out.takePrepares()).as("once").isEmpty();

        out.sync(replica);
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        replica.onPrepareReply(3, 3, 2, Ops.space(4096));
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().errno())
                .as("it is full now")
                .isEqualTo(Errno.ENOSPC);

        replica.tick(4000 * MILLI);
        submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        backupsHave(replica.lastSequence());
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).failure).as("it is not").isNull();
    }

    /** What the file system below has is kept ahead of need; a burst may be faster. */
    @Test
    void aDiskThatIsGrowingIsWaitedFor() {
        replica.onPrepareReply(3, 3, 1, new DiskSpace(4096, true));
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().advice()).isEqualTo(Advice.RETRY);
        out.admissible = 0;
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().errno())
                .as("the own disk has no more")
                .isEqualTo(Errno.ENOSPC);
        out.growing = true;
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().advice()).isEqualTo(Advice.RETRY);

        replica.onPrepareReply(3, 3, 1, new DiskSpace(4096, false));
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().errno()).isEqualTo(Errno.ENOSPC);
    }

    /** It has grown by what is missing, between the attempt and the question. */
    @Test
    void aDiskThatHasJustGrownIsTriedAgain() {
        out.room = false;
        out.growing = true;
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().errno()).isEqualTo(Errno.ENOSPC);
    }

    /** What another placement group has in flight to a disk may be stuck there for long. */
    @Test
    void aSmallWindowUnderAnOldReportAsksForANewOne() {
        SpaceLedger wide = new SpaceLedger(0, 64 << 20);
        RecordingOutputs sent = new RecordingOutputs(new SimStore(Ops.PG));
        PgReplica other = new PgReplica(Ops.PG, 1, PgLimits.DEFAULT, sent, wide);
        other.onMap(3, 3, PgMembers.allInSync(1, 2));
        other.onPeerHistory(2, 3, EMPTY, Ops.space(1 << 30));
        other.onDurable(3, 1);
        other.onPrepareReply(2, 3, 1, Ops.space(1 << 30));
        sent.takePrepares();
        wide.charge(2, 1 << 20);

        other.tick(2000 * MILLI);
        DataOp op = Ops.write(7, 1, 1, 0, 1 << 20);
        Answer waits = new Answer();
        other.onOperation(op, Unpooled.EMPTY_BUFFER, waits);
        assertThat(waits.refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(sent.takePrepares()).as("asks").hasSize(1);
        other.onDurable(3, 2);
        other.onPrepareReply(2, 3, 2, Ops.space(1 << 30));
        Answer answer = new Answer();
        other.onOperation(op, Unpooled.EMPTY_BUFFER, answer);
        assertThat(answer.failure).isNull();
    }

    @Test
    void nobodyWaitsForADamagedGroupAndNothingIsChargedForIt() {
        Answer write = submit(Ops.write(7, 1, 1, 0, 8));
        Answer read = read(Ops.read(0, 8));
        assertThat(ledger.inFlightBytes()).isPositive();
        out.sync(replica);
        replica.onMap(4, 4, PgMembers.allInSync(1, 2, 3));
        replica.onPeerHistory(2, 4, EMPTY, Ops.space(1 << 20));
        replica.onPeerHistory(3, 4, EMPTY, Ops.space(1 << 20));
        assertThat(replica.state()).isEqualTo(PgState.DAMAGED);
        assertThat(write.refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(read.refusal().advice()).isEqualTo(Advice.RETRY);
        assertThat(ledger.inFlightBytes()).isZero();
        assertThat(submit(Ops.write(7, 1, 1, 0, 8)).refusal().advice()).isEqualTo(Advice.RETRY);
    }

    /** Several loops and servers write to a disk: the word it gave them may be older. */
    @Test
    void theOwnDiskHasTheLastWordAndNothingIsLeftOfWhatItRefused() {
        out.room = false;
        Answer refused = submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(refused.refusal().errno()).isEqualTo(Errno.ENOSPC);
        assertThat(replica.lastSequence()).isEqualTo(1);
        assertThat(out.takePrepares()).isEmpty();
        assertThat(ledger.inFlightBytes()).isZero();

        out.growing = true;
        Answer waits = submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(waits.refusal().advice()).as("there will be room").isEqualTo(Advice.RETRY);

        out.room = true;
        Answer answer = submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        backupsHave(2);
        assertThat(answer.done).as("the same number, once there is room").isTrue();
    }

    @Test
    void aBackupWithoutRoomIsAskedAgainAndNobodyIsToldBefore() {
        Answer answer = submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        out.takePrepares();
        replica.onPrepareReply(3, 3, 2, Ops.space(1 << 20));
        replica.onPeerLost(2, 3);
        assertThat(answer.answers).isZero();
        replica.tick(MILLI);
        assertThat(out.takePrepares()).extracting(Prepare::targetDisk).containsExactly(2);
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        assertThat(answer.done).isTrue();
    }

    @Test
    void overwritesGoOnOnAFullDiskWhileItHasRoomToFlushThem() {
        replica.onPrepareReply(3, 3, 1, Ops.space(16_384));
        out.overwrites = true;
        assertThat(submit(Ops.write(7, 1, 1, 0, 4096)).failure).isNull();
        assertThat(submit(Ops.write(7, 2, 1, 0, 4096)).failure).isNull();
        out.flushing = true;
        Answer waits = submit(Ops.write(7, 3, 1, 0, 4096));
        assertThat(waits.refusal().advice()).isEqualTo(Advice.RETRY);
        out.flushing = false;
        assertThat(submit(Ops.write(7, 3, 1, 0, 4096)).refusal().errno())
                .as("no room comes back")
                .isEqualTo(Errno.ENOSPC);
        out.overwrites = false;
        out.flushing = true;
        assertThat(submit(Ops.write(7, 3, 1, 0, 4096)).refusal().errno()).isEqualTo(Errno.ENOSPC);
    }

    /** The map says it, whatever room the disks have. */
    @Test
    void aFullPoolTakesOnlyWhatLeavesItsSpaceAsItIs() {
        Answer before = submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        backupsHave(2);
        out.poolFull = true;
        assertThat(submit(Ops.write(7, 2, 1, 0, 8)).refusal().errno()).isEqualTo(Errno.ENOSPC);
        assertThat(replica.lastSequence()).as("nothing is left of it").isEqualTo(2);
        Answer again = submit(Ops.write(7, 1, 1, 0, 8));
        assertThat(before.done && again.done).as("what was taken is, as often as asked").isTrue();
        assertThat(submit(DataOp.deleteInodes(Ops.PG, 0, 1, 1)).failure).isNull();
        out.overwrites = true;
        assertThat(submit(Ops.write(7, 3, 1, 0, 8)).failure).isNull();
        out.overwrites = false;
        out.poolFull = false;
        assertThat(submit(Ops.write(7, 2, 1, 0, 8)).failure).isNull();
    }

    @Test
    void whatIsInFlightCountsAsTaken() {
        replica.onPrepareReply(3, 3, 1, Ops.space(3 * 8192));
        for (int n = 1; n <= 3; n++) {
            assertThat(submit(Ops.write(7, n, 1, 0, 4096)).failure).isNull();
        }
        assertThat(submit(Ops.write(7, 4, 1, 0, 4096)).failure).isNotNull();
    }

    /** Else the files of a stuck server would take the windows of all others. */
    @Test
    void whatABackupHasIsNoLongerInFlightToItThoughAnotherIsStuck() {
        submit(Ops.write(7, 1, 1, 0, 500 << 10));
        out.sync(replica);
        assertThat(ledger.withinWindow(2, 0, 1 << 20)).isFalse();
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20)); // said twice
        assertThat(ledger.withinWindow(2, 0, 1 << 20)).isTrue();
        assertThat(ledger.withinWindow(3, 0, 1 << 20)).as("the stuck one").isFalse();
        assertThat(ledger.inFlightBytes()).isEqualTo(504 << 10);

        replica.onMap(4, 4, PgMembers.allInSync(1, 2, 3));
        replica.onPeerHistory(2, 4, historyUpTo(2), Ops.space(1 << 20));
        replica.onPeerHistory(3, 4, historyUpTo(2), Ops.space(1 << 20));
        assertThat(ledger.withinWindow(3, 0, 1 << 20)).as("its history has it").isTrue();
        replica.close("it stops");
        assertThat(ledger.inFlightBytes()).isZero();
    }

    @Test
    void aFullWindowTakesDeletions() {
        SpaceLedger wide = new SpaceLedger(0, 64 << 20);
        PgReplica other =
                new PgReplica(
                        Ops.PG,
                        1,
                        PgLimits.DEFAULT,
                        new RecordingOutputs(new SimStore(Ops.PG)),
                        wide);
        other.onMap(3, 3, PgMembers.allInSync(1, 2));
        other.onPeerHistory(2, 3, EMPTY, Ops.space(64 << 20));
        other.onDurable(3, 1);
        other.onPrepareReply(2, 3, 1, Ops.space(64 << 20));
        for (int n = 1; n <= 2; n++) {
            Answer answer = new Answer();
            other.onOperation(Ops.write(7, n, 1, 0, 1 << 20), Unpooled.EMPTY_BUFFER, answer);
            assertThat(answer.answers).isEqualTo(n - 1);
        }
        Answer deleted = new Answer();
        other.onOperation(DataOp.deleteInodes(Ops.PG, 0, 1, 1), Unpooled.EMPTY_BUFFER, deleted);
        assertThat(deleted.failure).isNull();
    }

    @Test
    void tooMuchInFlightIsRetriedLater() {
        for (int n = 1; n <= 8; n++) {
            assertThat(submit(Ops.write(7, n, 1, 0, 8)).failure).isNull();
        }
        Answer refused = submit(Ops.write(7, 9, 1, 0, 8));
        assertThat(refused.failure).isNotNull();
        assertThat(refused.refusal().advice()).isEqualTo(Advice.RETRY);
    }

    @Test
    void whatWasLostIsSentAgainAndLostRepliesDoNoHarm() {
        submit(Ops.write(7, 1, 1, 0, 8));
        submit(Ops.write(7, 2, 1, 0, 8));
        out.takePrepares();
        replica.onPrepareReply(2, 3, 2, Ops.space(1 << 20));
        replica.onPeerLost(2, 3);
        replica.tick(MILLI);
        assertThat(out.takePrepares())
                .singleElement()
                .satisfies(p -> assertThat(p.entry().sequence()).isEqualTo(3));
        replica.tick(200 * MILLI);
        assertThat(out.takePrepares())
                .extracting(p -> p.targetDisk() + ":" + p.entry().sequence())
                .contains("3:2", "3:3");
    }

    @Test
    void aGapIsFilledFromWhereTheBackupIs() {
        submit(Ops.write(7, 1, 1, 0, 8));
        submit(Ops.write(7, 2, 1, 0, 8));
        out.takePrepares();
        replica.onPrepareGap(2, 3, 1);
        replica.tick(MILLI);
        assertThat(out.takePrepares())
                .extracting(p -> p.targetDisk() + ":" + p.entry().sequence())
                .containsExactly("2:2", "2:3");
    }

    @Test
    void aNewEpochSendsAgainWhatIsUncommittedAndThenAnswers() {
        Answer answer = submit(Ops.write(7, 1, 1, 0, 8));
        out.sync(replica);
        out.takePrepares();
        replica.onMap(4, 4, PgMembers.allInSync(1, 2, 3));
        assertThat(submit(Ops.write(7, 2, 1, 0, 8)).failure).isNotNull();
        PgHistory behind = out.store.state().lastSequence() == 2 ? historyUpTo(1) : EMPTY;
        replica.onPeerHistory(2, 4, behind, Ops.space(1 << 20));
        replica.onPeerHistory(3, 4, behind, Ops.space(1 << 20));
        assertThat(out.takePrepares())
                .extracting(p -> p.entry().sequence() + " of " + p.entry().epoch())
                .containsExactly("2 of 3", "3 of 4", "2 of 3", "3 of 4");
        out.sync(replica);
        replica.onPrepareReply(2, 4, 3, Ops.space(1 << 20));
        replica.onPrepareReply(3, 4, 3, Ops.space(1 << 20));
        assertThat(answer.done).isTrue();
        assertThat(replica.state()).isEqualTo(PgState.ACTIVE);
    }

    private static PgHistory historyUpTo(long sequence) {
        return new PgHistory(3, sequence, 0, List.of(new PgLogState.EpochStart(3, 1)));
    }

    @Test
    void payloadsAreReleasedOnCommitAndOnClose() {
        ByteBuf committed = Unpooled.buffer(8).writeLong(1);
        ByteBuf open = Unpooled.buffer(8).writeLong(2);
        replica.onOperation(Ops.write(7, 1, 1, 0, 8), committed, new Answer());
        out.sync(replica);
        backupsHave(2);
        Answer answer = new Answer();
        replica.onOperation(Ops.write(7, 2, 1, 0, 8), open, answer);
        assertThat(open.refCnt()).isEqualTo(2);
        replica.close("it stops");
        assertThat(answer.failure).isNotNull();
        assertThat(List.of(committed.refCnt(), open.refCnt())).containsExactly(1, 1);
        assertThat(ledger.inFlightBytes()).isZero();
        committed.release();
        open.release();
    }

    @Test
    void anotherPrimaryEndsWhatWaits() {
        Answer answer = submit(Ops.write(7, 1, 1, 0, 8));
        Answer waiting = read(Ops.read(0, 8));
        replica.onMap(4, 4, PgMembers.allInSync(2, 1, 3));
        assertThat(answer.failure).isNotNull();
        assertThat(answer.refusal().advice()).isEqualTo(Advice.REFRESH_MAP);
        assertThat(waiting.failure).isNotNull();
        assertThat(replica.state()).isEqualTo(PgState.BACKUP);
    }

    @Test
    void aBackupThatTakesNothingIsTriedWithOneOperationAndNothingNewIsAdmitted() {
        Answer first = submit(Ops.write(7, 1, 1, 0, 8));
        Answer second = submit(Ops.write(7, 2, 1, 8, 8));
        out.sync(replica);
        replica.onPrepareReply(2, 3, 3, Ops.space(1 << 20));
        out.takePrepares();
        long now = 0;
        int tries = 0;
        while (tries < 4) {
            replica.onPeerLost(3, 3);
            replica.onPeerLost(3, 3); // each of what was in flight
            now += 2_000 * MILLI;
            replica.tick(now);
            assertThat(out.takePrepares()).isNotEmpty();
            tries++;
        }
        replica.onPeerLost(3, 3);
        replica.tick(now + MILLI);
        assertThat(out.takePrepares()).as("during a pause").isEmpty();
        replica.tick(now + 2_000 * MILLI);
        assertThat(out.takePrepares()).extracting(p -> p.entry().sequence()).containsExactly(2L);

        RpcStatus refusal = submit(Ops.write(7, 3, 1, 16, 8)).refusal();
        assertThat(refusal.advice()).isEqualTo(Advice.RETRY);
        assertThat(refusal.detail()).contains("disk 3 of the placement group takes nothing");
        assertThat(List.of(first.answers, second.answers)).containsExactly(0, 0);

        replica.onPrepareReply(3, 3, 2, Ops.space(1 << 20));
        assertThat(first.done).isTrue();
        replica.tick(now + 2_001 * MILLI);
        replica.onPrepareReply(3, 3, 3, Ops.space(1 << 20));
        assertThat(second.done).isTrue();
        Answer third = submit(Ops.write(7, 3, 1, 16, 8));
        assertThat(third.failure).isNull();
    }
}
