package io.cairn.mds.leader;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.mds.leader.MemberReports.Report;
import io.cairn.mds.proto.ClusterSettings;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

final class AgreedSettingsTest {
    private static final ClusterSettings PRESENT =
            ClusterSettings.newBuilder().setLeaderLeaseNanos(1000).build();

    @Test
    void aLeaseThatAllAreConfiguredWithIsWanted() {
        assertThat(wanted(500, 500, 500).getLeaderLeaseNanos()).isEqualTo(500);
        assertThat(wanted(500, 500, 1000)).isEqualTo(PRESENT);
        assertThat(wanted(500, 700, 500)).isEqualTo(PRESENT);
    }

    @Test
    void whileAMemberHasToldNothingAllStaysAsItIs() {
        MemberReports reports = new MemberReports(3, 1, new Report(500));
        reports.heard(2, new Report(500));
        assertThat(AgreedSettings.wanted(PRESENT, reports.ofAll())).isEqualTo(PRESENT);
        reports.heard(3, new Report(500));
        assertThat(AgreedSettings.wanted(PRESENT, reports.ofAll())).isNotEqualTo(PRESENT);
        reports.begin();
        assertThat(AgreedSettings.wanted(PRESENT, reports.ofAll())).isEqualTo(PRESENT);
    }

    private static ClusterSettings wanted(long... leases) {
        return AgreedSettings.wanted(
                PRESENT, Arrays.stream(leases).mapToObj(Report::new).toList());
    }
}
