package io.cairn.mds.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.CallTotal;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * When a disk is called slow and when no more, by a clock that only moves when told: disks 1 to 5
 * of one class. A window is ten seconds.
 */
class SlowDisksTest {
    private static final long WINDOW = TimeUnit.SECONDS.toNanos(10);
    private static final int CALLS = SlowDisks.MIN_CALLS;

    private final SlowDisks slow = new SlowDisks(Duration.ofMinutes(1));
    private final MapUpdate.Builder state = MapUpdate.newBuilder().setEpoch(7);
    private final Map<Integer, DiskStatus.Builder> reported = new TreeMap<>();
    private final Map<Integer, Long> logMillis = new HashMap<>();
    private long now = -3 * WINDOW;

    SlowDisksTest() {
        state.addServers(Server.newBuilder().setId(1).setAddress("h:1").setUp(true));
        for (int id = 1; id <= 5; id++) {
            disk(id, DeviceClass.DEVICE_CLASS_HDD);
            logMillis.put(id, 5L);
        }
        state.addPools(Pool.newBuilder().setId(1).setSize(3).setPgCount(1));
        state.addPgs(
                PlacementGroup.newBuilder()
                        .setPg(0x10000)
                        .setEpoch(5)
                        .addAllReplicas(List.of(1, 2, 3))
                        .addAllInSync(List.of(2, 3)));
        slow.begin(map(), now);
    }

    private void disk(int id, DeviceClass deviceClass) {
        state.addDisks(Disk.newBuilder().setId(id).setServer(1).setDeviceClass(deviceClass));
        reported.put(id, DiskStatus.newBuilder().setDisk(id));
    }

    private DiskStatus.Builder status(int disk) {
        return Objects.requireNonNull(reported.get(disk));
    }

    private ClusterMap map() {
        return ClusterMap.of(state.build());
    }

    /** So many windows, in each of which every disk has so many syncs of its log. */
    private void windows(int number, int calls) {
        for (int i = 0; i < number; i++) {
            now += WINDOW;
            logMillis.forEach((id, millis) -> {
                CallTotal before = status(id).getLogSyncs();
                status(id)
                        .setLogSyncs(
                                CallTotal.newBuilder()
                                        .setCalls(before.getCalls() + calls)
                                        .setMicros(before.getMicros() + calls * millis * 1000));
            });
            look();
        }
    }

    /** Looks, and makes the change that is due. */
    private void look() {
        Map<Integer, DiskStatus> said = new HashMap<>();
        reported.forEach((id, status) -> said.put(id, status.build()));
        ClusterMap base = map();
        boolean due = slow.look(base, said, now);
        InSyncSets.@Nullable Change change = slow.changed(base);
        assertThat(due).isEqualTo(change != null);
        if (change == null) {
            return;
        }
        for (Disk disk : change.update().getDisksList()) {
            state.setDisks(disk.getId() - 1, disk);
        }
        if (change.update().getPgsCount() > 0) {
            state.setPgs(0, change.update().getPgs(0));
        }
        state.setEpoch(state.getEpoch() + 1);
        slow.look(map(), said, now);
    }

    private List<Integer> slowDisks() {
        return state.getDisksList().stream().filter(Disk::getSlow).map(Disk::getId).toList();
    }

    @Test
    void aDiskIsToldOfThenSlowThenRests() {
        logMillis.put(4, 60L);
        windows(3, CALLS); // the first one has nothing to begin from
        assertThat(slow.texts()).isEmpty();
        windows(1, CALLS);
        assertThat(slow.texts())
                .containsEntry(
                        4,
                        "its syncs of the log take 60.0 ms on average, those of other hdd disks 5.0 ms");
        windows(2, CALLS);
        assertThat(slowDisks()).isEmpty();
        windows(1, CALLS);
        assertThat(slowDisks()).containsExactly(4);
        assertThat(slow.texts().get(4)).contains("left out of in-sync sets");

        windows(29, 0);
        assertThat(slowDisks()).as("rests").containsExactly(4);
        windows(1, 0);
        assertThat(slowDisks()).isEmpty();
        assertThat(slow.texts()).isEmpty();
        windows(7, CALLS);
        assertThat(slowDisks()).as("as slow as before").containsExactly(4);
    }

    @Test
    void aDiskThatIsWellAgainInTimeIsForgotten() {
        logMillis.put(4, 60L);
        windows(6, CALLS);
        assertThat(slow.texts()).containsKey(4);
        logMillis.put(4, 30L);
        windows(3, CALLS);
        assertThat(slow.texts()).as("neither bad nor well").containsKey(4);
        logMillis.put(4, 5L);
        windows(3, CALLS);
        assertThat(slow.texts()).isEmpty();
        windows(20, CALLS);
        assertThat(slowDisks()).isEmpty();
    }

    @Test
    void allDisksOfAClassMayBeSlow() {
        logMillis.replaceAll((_, _) -> 300L);
        windows(20, CALLS);
        assertThat(slow.texts()).isEmpty();
    }

    @Test
    void fewCallsOrFewPeersSayNothing() {
        logMillis.put(4, 500L);
        windows(20, CALLS - 1);
        assertThat(slow.texts()).isEmpty();

        logMillis.keySet().removeAll(List.of(1, 2, 3));
        windows(20, CALLS);
        assertThat(slow.texts()).isEmpty();
    }

    @Test
    void disksOfAnotherClassAreNoPeers() {
        disk(6, DeviceClass.DEVICE_CLASS_SSD);
        logMillis.put(6, 500L);
        windows(20, CALLS);
        assertThat(slow.texts()).isEmpty();
    }

    @Test
    void noMoreThanAFewAreSlowAtOnce() {
        logMillis.put(1, 90L);
        logMillis.put(2, 90L);
        windows(10, CALLS);
        assertThat(slowDisks()).hasSize(1);
        assertThat(slow.texts()).as("both are told").hasSize(2);
    }

    @Test
    void aDiskThatStallsIsSlowAtOnceUntilItHasNotForAWindow() {
        status(3).setOldestCallMillis(SlowDisks.STALLED_MILLIS - 1);
        look();
        assertThat(slowDisks()).isEmpty();
        status(3).setOldestCallMillis(SlowDisks.STALLED_MILLIS);
        look();
        assertThat(slowDisks()).containsExactly(3);
        assertThat(slow.texts().get(3)).startsWith("a call to it has not come back for 3 s");
        windows(3, 0);
        assertThat(slowDisks()).as("still so").containsExactly(3);
        status(3).setOldestCallMillis(0);
        look();
        assertThat(slowDisks()).containsExactly(3);
        windows(1, 0);
        assertThat(slowDisks()).isEmpty();
    }

    /** What they said last stays the last they said. */
    @Test
    void neitherADiskThatIsOutNorOneThatIsAwayStalls() {
        status(3).setOldestCallMillis(60_000).setCondition(DiskCondition.DISK_OUT);
        look();
        assertThat(slowDisks()).isEmpty();
        status(3).setCondition(DiskCondition.DISK_SERVING);
        state.getServersBuilder(0).setUp(false);
        look();
        assertThat(slowDisks()).isEmpty();
    }

    /** Its primary begins, or ends, to bring it up to date. */
    @Test
    void groupsThatItLearnsInBeginANewEpoch() {
        status(1).setOldestCallMillis(SlowDisks.STALLED_MILLIS);
        look();
        assertThat(state.getPgs(0).getEpoch()).isEqualTo(8);
        status(1).setOldestCallMillis(0);
        windows(1, 0);
        assertThat(slowDisks()).isEmpty();
        assertThat(state.getPgs(0).getEpoch()).isEqualTo(9);
    }

    /** Its syncs have nothing to do where its writes wait for the device. */
    @Test
    void aDiskIsSlowByItsWritesToo() {
        for (int i = 0; i < 7; i++) {
            reported.forEach(
                    (id, status) -> status.setWrites(more(status.getWrites(), id == 4 ? 60 : 5)));
            windows(1, CALLS);
        }
        assertThat(slowDisks()).containsExactly(4);
        assertThat(slow.texts().get(4))
                .startsWith("its writes take 60.0 ms on average, those of other hdd disks 5.0 ms");
    }

    @Test
    void aDiskIsSlowByTheWritesOfItsLogToo() {
        for (int i = 0; i < 7; i++) {
            reported.forEach((id, status) ->
                    status.setLogWrites(more(status.getLogWrites(), id == 4 ? 60 : 5)));
            windows(1, CALLS);
        }
        assertThat(slowDisks()).containsExactly(4);
        assertThat(slow.texts().get(4)).startsWith("its writes of the log take 60.0 ms");
    }

    /** A server of an older release reports no writes. */
    @Test
    void whatFewReportIsNotCompared() {
        for (int i = 0; i < 20; i++) {
            for (int id : List.of(1, 4)) {
                status(id).setWrites(more(status(id).getWrites(), id == 4 ? 60 : 5));
            }
            windows(1, CALLS);
        }
        assertThat(slow.texts()).isEmpty();
    }

    private static CallTotal more(CallTotal before, long millis) {
        return CallTotal.newBuilder()
                .setCalls(before.getCalls() + CALLS)
                .setMicros(before.getMicros() + CALLS * millis * 1000)
                .build();
    }

    @Test
    void whatANewLeaderFindsSlowRestsAnew() {
        state.getDisksBuilder(2).setSlow(true);
        slow.begin(map(), now);
        windows(29, CALLS);
        assertThat(slowDisks()).containsExactly(3);
        windows(1, CALLS);
        assertThat(slowDisks()).isEmpty();
    }

    @Test
    void aServerThatWasStartedAnewCountsAnew() {
        windows(2, CALLS);
        status(4).setLogSyncs(CallTotal.getDefaultInstance());
        windows(20, CALLS);
        assertThat(slow.texts()).isEmpty();
    }
}
