package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Every rule of the in-sync sets, by a clock that only moves when told: servers 1 to 4, each with
 * the disk of ten times its number.
 */
class InSyncSetsTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long BEGUN = 100 * SECOND;
    private static final int PG = 0x10000;

    private final ServerLeases servers = new ServerLeases(60 * SECOND);
    private boolean noDown;
    private final InSyncSets sets = new InSyncSets(servers, () -> noDown);
    private final MapUpdate.Builder state =
            MapUpdate.newBuilder()
                    .setEpoch(7)
                    .addPools(Pool.newBuilder().setId(1).setSize(3).setPgCount(1000));
    private long now = BEGUN;

    InSyncSetsTest() {
        for (int id = 1; id <= 4; id++) {
            state.addServers(
                            Server.newBuilder()
                                    .setId(id)
                                    .setAddress("h:1")
                                    .setUp(true)
                                    .setRecovers(true))
                    .addDisks(Disk.newBuilder().setId(10 * id).setServer(id));
        }
        group(10, 20, 30);
        servers.begin(map(), BEGUN);
        sets.begin(BEGUN);
        later(SECOND);
        heard(1, 2, 3, 4);
    }

    /** One more group of these replicas, all in sync. */
    private int group(Integer... disks) {
        int pg = PG + state.getPgsCount();
        state.addPgs(
                PlacementGroup.newBuilder()
                        .setPg(pg)
                        .setEpoch(5)
                        .addAllReplicas(List.of(disks))
                        .addAllInSync(List.of(disks)));
        return pg;
    }

    private ClusterMap map() {
        return ClusterMap.of(state.build());
    }

    private void later(long nanos) {
        now += nanos;
    }

    private void heard(int... ids) {
        for (int id : ids) {
            servers.heard(id, now, state.getEpoch(), ServerLeases.Report.NONE);
        }
    }

    private void heardOf(int id, DiskStatus... disks) {
        servers.heard(
                id,
                now,
                state.getEpoch(),
                new ServerLeases.Report(Arrays.asList(disks), null, null, ""));
    }

    private static DiskStatus disk(int id, boolean released) {
        return DiskStatus.newBuilder().setDisk(id).setReleased(released).build();
    }

    private void down(int id) {
        state.setEpoch(state.getEpoch() + 1).getServersBuilder(id - 1).setUp(false);
    }

    /** As a registration does: the groups of its disks begin a new epoch. */
    private void restart(int id) {
        state.setEpoch(state.getEpoch() + 1);
        for (PlacementGroup.Builder group : state.getPgsBuilderList()) {
            if (group.getReplicasList().contains(10 * id)) {
                group.setEpoch(state.getEpoch());
            }
        }
        servers.heard(id, now, 0, ServerLeases.Report.NONE);
        sets.restarted(map(), id, now);
    }

    private void inSync(int index, Integer... disks) {
        state.setEpoch(state.getEpoch() + 1)
                .getPgsBuilder(index)
                .setEpoch(state.getEpoch())
                .clearInSync()
                .addAllInSync(List.of(disks));
    }

    /** The in-sync set of the first group after those left that are to; checks the change. */
    private List<Integer> stay() {
        ClusterMap base = map();
        InSyncSets.@Nullable Change change = sets.leaving(base, now);
        assertThat(sets.isLeaving(base, now)).isEqualTo(change != null);
        assertThat(sets.isLeaving(base, now)).as("asked again").isEqualTo(change != null);
        return after(change);
    }

    private List<Integer> after(InSyncSets.@Nullable Change change) {
        if (change == null) {
            return List.of();
        }
        PlacementGroup changed = change.update().getPgs(0);
        assertThat(changed.getEpoch()).as("a new epoch").isEqualTo(state.getEpoch() + 1);
        return changed.getInSyncList();
    }

    private static List<Integer> nobodyLeaves() {
        return List.of();
    }

    // ---- silence ------------------------------------------------------------

    @Test
    void aBackupLeavesOnceItIsSilent() {
        heard(3);
        later(InSyncSets.SILENCE_NANOS);
        heard(1, 2);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        later(1);
        assertThat(stay()).containsExactly(10, 20);
    }

    @Test
    void aBackupThatMayHoldItselfForThePrimaryStays() {
        inSync(0, 10, 20, 30);
        servers.heard(3, now, state.getEpoch() - 1, ServerLeases.Report.NONE);
        later(InSyncSets.SILENCE_NANOS + 1);
        heard(1, 2);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        servers.heard(
                3, now - InSyncSets.SILENCE_NANOS - 1, state.getEpoch(), ServerLeases.Report.NONE);
        assertThat(stay()).as("it has confirmed the epoch").containsExactly(10, 20);
    }

    @Test
    void aPrimaryThatIsSilentStaysUntilItIsDown() {
        later(InSyncSets.SILENCE_NANOS + 1);
        heard(2, 3);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        down(1);
        assertThat(stay()).containsExactly(20, 30);
    }

    @Test
    void whoIsDownLeavesThoughItConfirmedNothing() {
        inSync(0, 10, 20, 30);
        servers.heard(3, now, 0, ServerLeases.Report.NONE);
        down(3);
        assertThat(stay()).containsExactly(10, 20);
    }

    // ---- nobody leaves unless somebody stays that surely serves -------------

    @Test
    void aSetIsNeverLeftEmpty() {
        down(1);
        down(2);
        down(3);
        assertThat(stay()).isEqualTo(nobodyLeaves());
    }

    @Test
    void oneThatIsSilentItselfDoesNotSurelyServe() {
        later(InSyncSets.SILENCE_NANOS + 1);
        down(1);
        down(2);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        heard(3);
        assertThat(stay()).containsExactly(30);
    }

    @Test
    void oneThatThisLeaderHasNotHeardOfDoesNotSurelyServe() {
        down(1);
        servers.begin(map(), now);
        sets.begin(now);
        later(1);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        heard(2);
        assertThat(stay()).as("of the same map").containsExactly(20, 30);
    }

    // ---- disks --------------------------------------------------------------

    @Test
    void aReleasedDiskLeavesAtOnceAsPrimaryToo() {
        heardOf(1, disk(10, false));
        assertThat(stay()).isEqualTo(nobodyLeaves());
        heardOf(1, disk(10, true));
        assertThat(stay()).as("of the same map").containsExactly(20, 30);
    }

    @Test
    void anotherReleasedDiskOfTheServerIsNoReason() {
        heardOf(1, disk(10, false), disk(11, true));
        assertThat(stay()).isEqualTo(nobodyLeaves());
    }

    @Test
    void aDiskThatItsServerDoesNotReportLeaves() {
        heardOf(3, disk(0, true), disk(31, false));
        assertThat(stay()).containsExactly(10, 20);
    }

    @Test
    void aReleasedDiskStaysWhereNobodyElseServes() {
        inSync(0, 10);
        heardOf(1, disk(10, true));
        assertThat(stay()).isEqualTo(nobodyLeaves());
        inSync(0, 10, 20);
        heardOf(2, disk(20, true));
        assertThat(stay()).isEqualTo(nobodyLeaves());
        heardOf(2, disk(20, false));
        assertThat(stay()).containsExactly(20);
    }

    // ---- restarts -----------------------------------------------------------

    @Test
    void whoWasStartedAnewLeavesOnceAnotherMemberIsHeardOfSince() {
        later(1);
        restart(3);
        assertThat(stay()).as("the others may be gone, too").isEqualTo(nobodyLeaves());
        later(1);
        heard(3);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        heard(2);
        assertThat(stay()).containsExactly(10, 20);
    }

    /** Until it knows of its successor, the new process serves reads by its lease. */
    @Test
    void aPrimaryThatWasStartedAnewFirstBecomesABackup() {
        later(1);
        restart(1);
        later(1);
        heard(1, 2);
        assertThat(stay()).containsExactly(20, 10, 30);
        inSync(0, 20, 10, 30);
        later(1);
        heard(2, 3);
        assertThat(sets.settling(map(), now)).as("nor is it made one again").isNull();
        assertThat(stay()).as("it may hold itself for the primary").isEqualTo(nobodyLeaves());
        heard(1);
        assertThat(stay()).containsExactly(20, 30);
    }

    @Test
    void aPrimaryThatWasStartedAnewAndDiedAgainLeavesWhenItsLeaseIsOver() {
        later(1);
        restart(1);
        later(1);
        heard(2);
        inSync(0, 20, 10, 30);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        down(1);
        assertThat(stay()).containsExactly(20, 30);
    }

    @Test
    void whereAllWereStartedAnewAllStayForAWhileAlsoWhoIsMissing() {
        down(3);
        restart(1);
        restart(2);
        later(InSyncSets.RESTART_WAIT_NANOS);
        heard(1, 2);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        later(1);
        assertThat(stay()).containsExactly(10, 20);
    }

    @Test
    void nobodyLeavesForOneThatWasStartedAnewItself() {
        down(3);
        restart(1);
        later(InSyncSets.RESTART_WAIT_NANOS);
        restart(2);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        later(1);
        heard(1, 2);
        assertThat(stay()).as("the wait of the first is over").containsExactly(10, 20);
    }

    @Test
    void aMemberThatLeftAndJoinedAgainWasNotStartedAnew() {
        restart(1);
        inSync(0, 20, 30);
        later(1);
        heard(1, 2, 3);
        assertThat(after(joining(join(10)))).containsExactly(20, 30, 10);
        inSync(0, 20, 30, 10);
        assertThat(stay()).isEqualTo(nobodyLeaves());
    }

    @Test
    void aRestartThatAnEarlierLeaderKnewOfIsNoReason() {
        restart(1);
        sets.begin(now);
        later(1);
        heard(1, 2, 3);
        assertThat(stay()).isEqualTo(nobodyLeaves());
    }

    // ---- releases -----------------------------------------------------------

    @Test
    void nobodyLeavesWhileAServerWithGroupsDoesNotRecover() {
        group(20, 30, 40);
        state.getServersBuilder(4 - 1).setRecovers(false);
        down(1);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        state.setEpoch(state.getEpoch() + 1).getServersBuilder(4 - 1).setRecovers(true);
        assertThat(stay()).containsExactly(20, 30);
    }

    @Test
    void aServerWithoutGroupsNeedNotRecover() {
        state.getServersBuilder(4 - 1).setRecovers(false);
        down(1);
        assertThat(stay()).containsExactly(20, 30);
    }

    @Test
    void aLearnerJoinsThoughAServerDoesNotRecover() {
        state.getServersBuilder(2 - 1).setRecovers(false);
        inSync(0, 20, 30);
        assertThat(after(joining(join(10)))).containsExactly(20, 30, 10);
    }

    // ---- joining ------------------------------------------------------------

    private InSyncSets.@Nullable Change joining(JoinPgRequest... wanted) {
        return sets.joining(map(), List.of(wanted), now);
    }

    /** To the first group, in its present epoch. */
    private JoinPgRequest join(int disk) {
        return join(PG, state.getPgs(0).getEpoch(), disk);
    }

    private static JoinPgRequest join(int pg, long pgEpoch, int disk) {
        return JoinPgRequest.newBuilder().setPg(pg).setPgEpoch(pgEpoch).setDisk(disk).build();
    }

    @Test
    void aRequestOfAnotherEpochOrDiskOrGroupChangesNothing() {
        inSync(0, 20, 30);
        long epoch = state.getPgs(0).getEpoch();
        assertThat(joining(join(PG, epoch - 1, 10))).isNull();
        assertThat(joining(join(PG, epoch, 40))).as("no replica").isNull();
        assertThat(joining(join(PG, epoch, 20))).as("a member").isNull();
        assertThat(joining(join(PG + 1, epoch, 10))).isNull();
    }

    @Test
    void whoDoesNotServeIsRefusedByANewEpoch() {
        inSync(0, 20, 30);
        heardOf(1, disk(10, true));
        assertThat(after(joining(join(10)))).containsExactly(20, 30);
        heardOf(1, disk(10, false));
        assertThat(after(joining(join(10)))).containsExactly(20, 30, 10);
        later(InSyncSets.SILENCE_NANOS + 1);
        assertThat(after(joining(join(10)))).as("silent").containsExactly(20, 30);
        heard(1);
        down(1);
        assertThat(after(joining(join(10)))).as("down").containsExactly(20, 30);
    }

    @Test
    void learnersThatAskTogetherJoinTogether() {
        group(20, 30, 40);
        inSync(0, 30);
        inSync(1, 20, 30);
        InSyncSets.Change change =
                Objects.requireNonNull(
                        joining(join(10), join(20), join(PG + 1, state.getEpoch(), 40), join(10)));
        assertThat(change.update().getPgsList())
                .extracting(PlacementGroup::getInSyncCount)
                .containsExactly(3, 3);
        assertThat(change.update().getPgs(0).getInSyncList().getFirst()).isEqualTo(30);
    }

    // ---- moving back --------------------------------------------------------

    private List<Integer> moved() {
        ClusterMap base = map();
        InSyncSets.@Nullable Change change = sets.settling(base, now);
        assertThat(sets.isSettling(base, now)).isEqualTo(change != null);
        return after(change);
    }

    @Test
    void theFirstReplicaIsThePrimaryAgainOnceAllAreInSyncAndServe() {
        assertThat(moved()).isEmpty();
        inSync(0, 20, 30);
        assertThat(moved()).isEmpty();
        inSync(0, 20, 30, 10);
        assertThat(moved()).containsExactly(10, 20, 30);
        heardOf(3, disk(30, true));
        assertThat(moved()).isEmpty();
        heard(3);
        assertThat(moved()).as("of the same map").containsExactly(10, 20, 30);
    }

    @Test
    void aFewMoveAtATime() {
        inSync(0, 20, 30, 10);
        for (int i = 1; i <= InSyncSets.MOVES; i++) {
            group(10, 20, 30);
            inSync(i, 30, 20, 10);
        }
        InSyncSets.Change change = Objects.requireNonNull(sets.settling(map(), now));
        assertThat(change.update().getPgsCount()).isEqualTo(InSyncSets.MOVES);
    }

    /** Else the one that was the primary could serve reads while others commit without it. */
    @Test
    void whoIsNoReplicaLeavesOnceItKnowsThatItIsNoPrimary() {
        inSync(0, 40, 10, 20);
        assertThat(moved()).as("a replica learns still").isEmpty();
        inSync(0, 40, 10, 20, 30);
        assertThat(moved()).containsExactly(10, 20, 30, 40);
        inSync(0, 10, 20, 30, 40);
        assertThat(moved()).as("it has not confirmed that").isEmpty();
        heard(4);
        assertThat(moved()).containsExactly(10, 20, 30);
        inSync(0, 10, 20, 30, 40);
        down(4);
        assertThat(moved()).as("its lease is over").containsExactly(10, 20, 30);
    }

    // ---- who is cut off from the primary ------------------------------------

    private void told(Integer... disks) {
        PlacementGroup group = state.getPgs(0);
        for (int disk : disks) {
            sets.told(group.getPg(), group.getEpoch(), disk, now);
        }
    }

    @Test
    void whoSaysNothingToThePrimaryLeavesIfItKnowsThatItIsABackup() {
        minSize(2);
        inSync(0, 10, 20, 30);
        told(20);
        assertThat(stay()).as("it may hold itself for the primary").isEmpty();
        heard(1, 2, 3);
        assertThat(stay()).containsExactly(10, 30);
        later(InSyncSets.TOLD_NANOS + 1);
        heard(1, 2, 3);
        assertThat(stay()).as("not told again").isEmpty();
        told(20);
        inSync(0, 10, 20, 30);
        heard(1, 2, 3);
        assertThat(stay()).as("told of an earlier epoch").isEmpty();
    }

    /** Else writes would wait although the others could serve. */
    @Test
    void whereNobodyAnswersThePrimaryAnotherMemberBecomesIt() {
        minSize(2);
        inSync(0, 10, 20, 30);
        heard(1, 2, 3);
        told(20, 30);
        assertThat(stay()).containsExactly(20, 30, 10);
        inSync(0, 10, 20);
        heard(1, 2, 3);
        told(20);
        assertThat(stay()).as("the other alone would be too few as well").isEmpty();
    }

    @Test
    void aPrimaryThatIsSilentItselfIsNotBelieved() {
        minSize(2);
        inSync(0, 10, 20, 30);
        heard(1, 2, 3);
        later(InSyncSets.SILENCE_NANOS + 1);
        heard(2, 3);
        told(20);
        assertThat(stay()).isEmpty();
    }

    private void minSize(int size) {
        state.getPoolsBuilder(0).setMinSize(size);
    }

    // ---- slow disks ---------------------------------------------------------

    private void slow(int disk, boolean is) {
        state.setEpoch(state.getEpoch() + 1).getDisksBuilder(disk / 10 - 1).setSlow(is);
        heard(1, 2, 3, 4);
    }

    @Test
    void aSlowBackupLeavesWhereOthersAreEnough() {
        minSize(2);
        slow(30, true);
        assertThat(stay()).containsExactly(10, 20);
        inSync(0, 10, 30);
        heard(1, 2, 3, 4);
        assertThat(stay()).as("the other alone would be too few").isEqualTo(nobodyLeaves());
    }

    /** Else it could serve reads while others commit without it. */
    @Test
    void aSlowPrimaryLeavesOnceItKnowsThatItIsNone() {
        minSize(2);
        slow(10, true);
        assertThat(stay()).containsExactly(20, 10, 30);
        inSync(0, 20, 10, 30);
        assertThat(stay()).isEqualTo(nobodyLeaves());
        assertThat(moved()).as("does not move back").isEmpty();
        heard(1);
        assertThat(stay()).as("of the same map").containsExactly(20, 30);
    }

    @Test
    void oneSlowDiskOfAGroupLeavesAtATime() {
        slow(20, true);
        slow(30, true);
        assertThat(stay()).containsExactly(10, 30);
    }

    @Test
    void aSlowDiskStaysUnderNodownAndWhereNobodyElseSurelyServes() {
        slow(10, true);
        noDown = true;
        assertThat(stay()).isEqualTo(nobodyLeaves());
        noDown = false;
        later(InSyncSets.SILENCE_NANOS + 1);
        heard(1);
        assertThat(stay()).as("the silent ones leave, as ever").containsExactly(10);
    }

    @Test
    void aSlowLearnerJoinsOnlyWhereItIsNeeded() {
        minSize(2);
        slow(10, true);
        inSync(0, 20, 30);
        assertThat(after(joining(join(10)))).as("refused").containsExactly(20, 30);
        inSync(0, 30);
        assertThat(after(joining(join(10)))).containsExactly(30, 10);
        slow(10, false);
        inSync(0, 20, 30);
        assertThat(after(joining(join(10)))).containsExactly(20, 30, 10);
    }

    // ---- what is logged -----------------------------------------------------

    @Test
    void aChangeIsToldInOneLine() {
        for (int i = 0; i < 99; i++) {
            group(10, 20, 30);
        }
        down(1);
        heardOf(3, disk(30, true));
        InSyncSets.Change change = Objects.requireNonNull(sets.leaving(map(), now));
        assertThat(change.summary())
                .isEqualTo(
                        "left in-sync sets: disk 10 of data server 1 (down): 100 placement groups;"
                                + " disk 30 of data server 3 (out of service): 100 placement groups");
    }

    /** The primary tells of disk 20, and server 3 says nothing to the leader. */
    @Test
    void underNodownNobodyLeavesForBeingSilent() {
        noDown = true;
        later(InSyncSets.SILENCE_NANOS + 1);
        heard(1, 2, 4);
        told(20);
        assertThat(sets.isLeaving(map(), now)).isFalse();
        assertThat(sets.leaving(map(), now)).isNull();
        heardOf(2, disk(20, true));
        assertThat(stay()).as("who is out of service leaves").containsExactly(10, 30);
        heardOf(2, disk(20, false));
        assertThat(sets.leaving(map(), now)).isNull();
        noDown = false;
        assertThat(stay()).isNotEqualTo(List.of(10, 20, 30)).contains(10);
    }
}
