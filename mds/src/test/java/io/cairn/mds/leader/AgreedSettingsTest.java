package io.cairn.mds.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.rocks.Remarks;
import io.cairn.mds.leader.MemberReports.Report;
import io.cairn.mds.proto.ClusterSettings;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

final class AgreedSettingsTest {
    private static final MemberReports.Place PLACE = new MemberReports.Place(7, 7);

    private static final ClusterSettings PRESENT =
            ClusterSettings.newBuilder().setLeaderLeaseNanos(1000).setFeatureLevel(2).build();

    @Test
    void aLeaseThatAllAreConfiguredWithIsWanted() {
        assertThat(wanted(500, 500, 500).getLeaderLeaseNanos()).isEqualTo(500);
        assertThat(wanted(500, 500, 1000)).isEqualTo(PRESENT);
        assertThat(wanted(500, 700, 500)).isEqualTo(PRESENT);
    }

    @Test
    void whileAMemberHasToldNothingAllStaysAsItIs() {
        MemberReports reports = new MemberReports(3, 1, report(500));
        reports.heard(2, report(500), PLACE);
        assertThat(AgreedSettings.wanted(PRESENT, reports.ofAll())).isEqualTo(PRESENT);
        reports.heard(3, report(500), PLACE);
        assertThat(AgreedSettings.wanted(PRESENT, reports.ofAll())).isNotEqualTo(PRESENT);
        reports.silent(2);
        assertThat(AgreedSettings.wanted(PRESENT, reports.ofAll())).isEqualTo(PRESENT);
        reports.heard(2, report(500), PLACE);
        reports.begin();
        assertThat(AgreedSettings.wanted(PRESENT, reports.ofAll())).isEqualTo(PRESENT);
    }

    @Test
    void theFeatureLevelIsWhatAllMembersKnowAndNeverFalls() {
        assertThat(level(3, 4, 3)).isEqualTo(3);
        assertThat(level(3, 2, 3)).isEqualTo(2);
        assertThat(level(3, 0, 3)).as("a member of before there were levels").isEqualTo(2);
        assertThat(level(1, 1, 1)).isEqualTo(2);
    }

    private static int level(int... levels) {
        return AgreedSettings.wanted(
                        PRESENT,
                        Arrays.stream(levels)
                                .mapToObj(l -> new Report(1000, l, 0, Remarks.NONE, ""))
                                .toList())
                .getFeatureLevel();
    }

    private static Report report(long leaseNanos) {
        return new Report(leaseNanos, 2, 0, Remarks.NONE, "");
    }

    private static ClusterSettings wanted(long... leases) {
        return AgreedSettings.wanted(
                PRESENT, Arrays.stream(leases).mapToObj(AgreedSettingsTest::report).toList());
    }
}
