package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.ChangeOrphansReply;
import io.cairn.common.proto.ChangeOrphansRequest;
import io.cairn.common.proto.CheckInodesReply;
import io.cairn.common.proto.CheckInodesRequest;
import io.cairn.common.proto.FoundOrphan;
import io.cairn.common.proto.ListOrphansReply;
import io.cairn.common.proto.ListOrphansRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Orphan;
import io.cairn.common.proto.OrphanId;
import io.cairn.common.proto.OrphanState;
import io.cairn.common.proto.ReportOrphansReply;
import io.cairn.common.proto.ReportOrphansRequest;
import io.cairn.common.proto.Setting;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.server.TestGroup.Answer;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the leader says to scrubs and administrators, and when it removes what is orphaned. */
final class OrphansTest {
    private static final int GROUPS = 16;
    private static final int POOL = 1;
    private static final String SETTINGS =
            """
            [raft]
            soft_space_limit = "2B"
            hard_space_limit = "1B"
            [pool]
            pg_count = 16
            [data_servers]
            lease = "10min"
            """;

    @TempDir Path directory;

    @SuppressWarnings("NullAway.Init")
    private TestGroup group;

    @SuppressWarnings("NullAway.Init")
    private FakeDataServers three;

    @SuppressWarnings("NullAway.Init")
    private TestSession session;

    private int names;

    @BeforeEach
    void start() throws Exception {
        group = new TestGroup(directory, 3, SETTINGS);
        three = new FakeDataServers(group, 3);
        group.awaitServing();
        three.registered(GROUPS);
        session = new TestSession(group);
        await().until(() -> group.status().getFeatureLevel() >= 6);
    }

    @AfterEach
    void close() throws IOException {
        three.close();
        group.close();
        assertThat(group.fatal).hasNullValue();
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofSeconds(60));
    }

    private FakeDataServer server() {
        return three.servers().getFirst();
    }

    private static int pg(int index) {
        return POOL << 16 | index;
    }

    /** Of files that were deleted, and their data. */
    private List<Long> dead(int number) {
        List<Long> inodes = new ArrayList<>();
        for (int i = 0; i < number; i++) {
            String name = "dead-" + names++;
            inodes.add(session.mutate(TestSession.create(name, false)).getAttr().getInode());
            session.mutate(TestSession.unlink(name));
        }
        // Freed by an entry of its own, then queued, then deleted.
        await().until(() -> inodes.stream().allMatch(inode -> deletions(inode) == 1));
        await().until(() -> group.status().getDeletionBacklogInodes() == 0);
        return inodes;
    }

    private Answer<CheckInodesReply> check(long epoch, List<Long> inodes) {
        return server().ask(
                        Method.CHECK_INODES,
                        CheckInodesRequest.newBuilder()
                                .setPg(pg(0))
                                .setMapEpoch(epoch)
                                .addAllInodes(inodes)
                                .build(),
                        CheckInodesReply.parser());
    }

    private Answer<ReportOrphansReply> report(int pg, int inodes, List<Long> found) {
        ReportOrphansRequest.Builder request =
                ReportOrphansRequest.newBuilder().setPg(pg).setInodes(inodes).setBytes(inodes);
        found.forEach(i ->
                request.addFound(FoundOrphan.newBuilder().setInode(i).setChunks(1).setBytes(1)));
        return server().ask(Method.REPORT_ORPHANS, request.build(), ReportOrphansReply.parser());
    }

    /** Looks until the first one is at least a second behind the last. */
    private void prove(int inodes, List<Long> found) {
        await().until(() -> {
            report(pg(3), inodes, found).get();
            return states().stream().allMatch(s -> s != OrphanState.ORPHAN_SUSPECTED);
        });
    }

    private List<Orphan> listed() {
        return group.call(
                        Method.LIST_ORPHANS,
                        ListOrphansRequest.getDefaultInstance(),
                        ListOrphansReply.parser())
                .get()
                .getOrphansList();
    }

    private List<OrphanState> states() {
        return listed().stream().map(Orphan::getState).toList();
    }

    private Answer<ChangeOrphansReply> change(boolean remove, boolean keep, List<Long> inodes) {
        ChangeOrphansRequest.Builder request =
                ChangeOrphansRequest.newBuilder().setRemove(remove).setKeep(keep);
        inodes.forEach(i -> request.addOrphans(OrphanId.newBuilder().setPool(POOL).setInode(i)));
        return group.call(Method.CHANGE_ORPHANS, request.build(), ChangeOrphansReply.parser());
    }

    private void set(String name, String value) {
        assertThat(trySet(name, value).ok()).as("%s %s", name, value).isTrue();
    }

    private RpcStatus trySet(String name, String value) {
        return group.call(
                        Method.SETTINGS,
                        SettingsRequest.newBuilder().setName(name).setValue(value).build(),
                        SettingsReply.parser())
                .status();
    }

    private int deletions(long inode) {
        return three.servers().stream()
                .mapToInt(s -> s.deleted.getOrDefault(inode, new AtomicInteger()).get())
                .sum();
    }

    @Test
    void whatIsSetIsChecked() {
        for (String age : List.of("0s", "1500ms", "3651d", "-1s", "long")) {
            assertThat(trySet("orphans.age", age).errno()).as(age).isEqualTo(Errno.EINVAL);
        }
        for (String share : List.of("1", "101%", "0.55%", "-1%", "%")) {
            assertThat(trySet("orphans.max_share", share).errno())
                    .as(share)
                    .isEqualTo(Errno.EINVAL);
        }
        for (String share : List.of("0%", "0.5%", "100%")) {
            assertThat(trySet("orphans.max_share", share).ok()).as(share).isTrue();
        }
        assertThat(trySet("orphans.age", "36h").ok()).isTrue();
        assertThat(
                        group.call(
                                        Method.SETTINGS,
                                        SettingsRequest.getDefaultInstance(),
                                        SettingsReply.parser())
                                .get()
                                .getSettingsList())
                .filteredOn(s -> s.getName().startsWith("orphans."))
                .extracting(Setting::getValue)
                .containsExactly("36h", "off", "100%");
    }

    // ---- scrubs -----------------------------------------------------------------------

    @Test
    void scrubsAreToldWhatIsNoFiles() {
        List<Long> asked = new ArrayList<>(dead(2));
        long file = session.mutate(TestSession.create("f", false)).getAttr().getInode();
        asked.add(1, file);
        assertThat(check(1, asked).get().getOrphansList()).containsExactly(0, 2);
        long epoch = group.status().getMap().getEpoch();
        assertThat(check(epoch, asked).get().getOrphansList()).containsExactly(0, 2);
    }

    @Test
    void onlyDataServersAreTold() {
        CheckInodesRequest request = CheckInodesRequest.newBuilder().setPg(pg(0)).build();
        assertThat(
                        group.call(Method.CHECK_INODES, request, CheckInodesReply.parser())
                                .status()
                                .errno())
                .isEqualTo(Errno.EPERM);
    }

    /** The state of one that was restored from a backup is not everything that was. */
    @Test
    void aLeaderWhoseMapIsOlderSaysNothingAndWarns() throws Exception {
        long epoch = group.status().getMap().getEpoch();
        Answer<CheckInodesReply> refused =
                server().askOnce(
                                group.awaitServing(),
                                Method.CHECK_INODES,
                                CheckInodesRequest.newBuilder()
                                        .setPg(pg(0))
                                        .setMapEpoch(epoch + 100)
                                        .build(),
                                CheckInodesReply.parser());
        assertThat(refused.status().errno()).isEqualTo(Errno.EAGAIN);
        await().untilAsserted(() ->
                assertThat(group.status().getWarningsList())
                        .anyMatch(w -> w.contains("older than the data")));
    }

    // ---- administrators ---------------------------------------------------------------

    @Test
    void whatIsProvenIsRemovedOnceAnAdministratorSaysSo() {
        List<Long> dead = dead(2);
        report(pg(3), 1000, dead).get();
        assertThat(states()).containsOnly(OrphanState.ORPHAN_SUSPECTED).hasSize(2);
        Answer<ChangeOrphansReply> early = change(true, false, dead);
        assertThat(early.status().errno()).isEqualTo(Errno.EINVAL);
        assertThat(early.status().detail()).contains("not proven yet", "604800 s");
        set("orphans.age", "1s");
        prove(1000, dead);
        assertThat(states()).containsOnly(OrphanState.ORPHAN_PROVEN);
        await().untilAsserted(() ->
                assertThat(group.status().getNotesList())
                        .anyMatch(n -> n.contains("cairn orphans remove")));
        assertThat(change(true, false, List.of(dead.getFirst(), 999_999L)).status().errno())
                .as("all or nothing")
                .isEqualTo(Errno.ENOENT);
        assertThat(change(false, true, dead.subList(1, 2)).get().getChangedCount()).isEqualTo(1);
        assertThat(change(true, false, dead).status().detail()).contains("is kept");

        assertThat(change(true, false, dead.subList(0, 1)).get().getChangedCount()).isEqualTo(1);
        await().until(() -> listed().size() == 1);
        // In every group of the pool, as it may have been cut up in any way; once for the file.
        assertThat(deletions(dead.getFirst())).isEqualTo(GROUPS + 1);
        assertThat(states()).containsExactly(OrphanState.ORPHAN_KEPT);
        assertThat(deletions(dead.getLast())).isEqualTo(1);
    }

    @Test
    void whatIsKnownOutlivesTheLeader() throws Exception {
        List<Long> dead = dead(1);
        report(pg(3), 1000, dead).get();
        Orphan before = listed().getFirst();
        group.stop(group.awaitServing());
        group.awaitServing();
        assertThat(listed()).containsExactly(before);
        assertThat(report(pg(4), 1000, List.of()).status().ok()).isTrue();
        assertThat(listed()).containsExactly(before);
        report(pg(3), 1000, List.of()).get();
        assertThat(listed()).isEmpty();
    }

    // ---- without being asked ----------------------------------------------------------

    @Test
    void whatIsProvenIsRemovedByItselfIfThatIsSet() {
        List<Long> dead = dead(3);
        set("orphans.age", "1s");
        prove(1000, dead);
        set("orphans.remove", "on");
        await().until(() -> listed().isEmpty());
        dead.forEach(inode -> assertThat(deletions(inode)).isEqualTo(GROUPS + 1));
    }

    @Test
    void notWhereTooMuchOfThePoolIsOrphaned() {
        List<Long> dead = dead(3);
        set("orphans.age", "1s");
        set("orphans.remove", "on");
        prove(100, dead); // of 100 inodes
        await().untilAsserted(() ->
                assertThat(group.status().getWarningsList())
                        .anyMatch(w -> w.contains("3.0%") && w.contains("orphans.max_share (1%)")));
        assertThat(states()).containsOnly(OrphanState.ORPHAN_PROVEN);
        set("orphans.max_share", "3%");
        await().until(() -> listed().isEmpty());
    }

    @Test
    void notWhereIdsAreFoundThatWereNeverGivenOut() {
        List<Long> dead = dead(1);
        long future = dead.getFirst() + 5000;
        set("orphans.age", "1s");
        set("orphans.remove", "on");
        report(pg(5), 10_000, List.of(future)).get();
        prove(10_000, dead);
        await().untilAsserted(() ->
                assertThat(group.status().getWarningsList())
                        .anyMatch(w -> w.contains("restored from a backup"))
                        .anyMatch(w -> w.contains("never gave out")));
        assertThat(states())
                .containsExactly(OrphanState.ORPHAN_PROVEN, OrphanState.ORPHAN_NEVER_GIVEN_OUT);
        assertThat(change(true, false, List.of(future)).status().errno()).isEqualTo(Errno.EINVAL);
        // New files get other ids, under this leader too.
        assertThat(session.mutate(TestSession.create("new", false)).getAttr().getInode())
                .isGreaterThan(future);
        // An administrator has looked at it.
        change(false, true, List.of(future)).get();
        await().until(() -> states().equals(List.of(OrphanState.ORPHAN_KEPT)));
        assertThat(deletions(future)).isZero();
    }
}
