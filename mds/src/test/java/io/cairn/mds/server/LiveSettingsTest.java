package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Setting;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rpc.RpcStatus;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an administrator sets while the group runs. */
final class LiveSettingsTest {
    private static final String SETTINGS =
            "[raft]\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n"
                    + "[background]\nreaper_inodes_per_second = 7\n";

    @TempDir Path directory;

    private static TestGroup.Answer<SettingsReply> set(TestGroup group, String name, String value) {
        return group.call(
                Method.SETTINGS,
                SettingsRequest.newBuilder().setName(name).setValue(value).build(),
                SettingsReply.parser());
    }

    private static Setting rate(TestGroup group) {
        return set(group, "", "").get().getSettings(0);
    }

    @Test
    void itOutlivesTheLeaderAndARestartOfAll() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            assertThat(rate(group).getValue()).isEqualTo("7");
            assertThat(rate(group).getSet()).isFalse();
            assertThat(group.status().getDeletionLimit()).isEqualTo(7);

            Setting answer = set(group, "reaper.rate", "30").get().getSettings(0);
            assertThat(answer.getValue()).isEqualTo("30");
            assertThat(answer.getSet()).isTrue();
            assertThat(group.status().getDeletionLimit()).isEqualTo(30);

            group.stop(leader);
            assertThat(group.awaitServing()).isNotEqualTo(leader);
            assertThat(rate(group).getValue()).isEqualTo("30");
            assertThat(group.status().getDeletionLimit()).isEqualTo(30);

            for (int id : group.running()) {
                group.stop(id);
            }
            for (int id = 1; id <= 3; id++) {
                group.start(id);
            }
            group.awaitServing();
            assertThat(rate(group).getValue()).isEqualTo("30");
            assertThat(set(group, "reaper.rate", "0").get().getSettings(0).getValue())
                    .isEqualTo("0");
            assertThat(group.status().getDeletionLimit()).isZero();
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void badNamesAndValuesAreRefusedAndChangeNothing() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            group.awaitServing();
            for (String value :
                    List.of("", "-1", "1.5", "fast", "1000001", "99999999999999999999")) {
                RpcStatus refused = set(group, "reaper.rate", value).status();
                assertThat(refused.errno()).as(value).isEqualTo(Errno.EINVAL);
                assertThat(refused.detail()).contains("0 to 1000000");
            }
            assertThat(set(group, "other", "1").status().detail()).contains("reaper.rate");
            assertThat(rate(group).getSet()).isFalse();
            assertThat(set(group, "reaper.rate", "1000000").status().ok()).isTrue();
        }
    }
}
