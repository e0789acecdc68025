package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.Config;
import io.cairn.common.config.ConfigException;
import io.cairn.common.config.ConfigRecordContract;
import org.junit.jupiter.api.Test;

final class MdsConfigTest extends ConfigRecordContract {
    private static final String FILE =
            """
            cluster_id = "6f1d0c1e-7a55-4c1b-9a39-1f3f0f6f2a10"
            member_id = 1
            data_dir = "mds"
            [[members]]
            id = 1
            address = "127.0.0.1:7000"
            raft_address = "127.0.0.1:7001"
            """;

    @Override
    protected Class<? extends Record> type() {
        return MdsConfig.class;
    }

    @Test
    void whatIsNotSaidHasDefaults() {
        MdsConfig config = parse(FILE);
        assertThat(config.pool().size()).isEqualTo(3);
        assertThat(config.sessions().expiry()).hasSeconds(60);
        assertThat(config.listen()).isEmpty();
    }

    @Test
    void aWriteNeedsTwoReplicasWhereThereAreTwo() {
        assertThat(minSize("")).isEqualTo(2);
        assertThat(minSize("size = 2\n")).isEqualTo(2);
        assertThat(minSize("size = 1\n")).isEqualTo(1);
        assertThat(minSize("size = 3\nmin_size = 1\n")).isEqualTo(1);
    }

    private static int minSize(String pool) {
        return parse(FILE + "[pool]\n" + pool).pool().minSizeOrDefault();
    }

    @Test
    void impossibleCombinationsAreRefused() {
        refused(FILE.replace("member_id = 1", "member_id = 2"), "member_id", "none of the members");
        refused(FILE.replace("6f1d", "xxxx"), "cluster_id", "is not a UUID");
        String second =
                FILE
                        + "[[members]]\nid = 2\naddress = \"127.0.0.1:7002\"\n"
                        + "raft_address = \"127.0.0.1:7003\"\n";
        refused(second, "members", "one, three or five");
        refused(second.replace("id = 2", "id = 1"), "members", "two members have the id 1");
        refused(FILE + "[pool]\nsize = 2\nmin_size = 3\n", "min_size", "must not exceed size");
        refused(FILE + "[sessions]\nexpiry = \"8s\"\n", "expiry", "twice renew_interval");
        refused(
                FILE + "[raft]\nhard_space_limit = \"1GiB\"\n",
                "hard_space_limit",
                "must not exceed soft_space_limit");
        refused(FILE + "[pool]\nchunk_size = \"70000B\"\n", "chunk_size", "multiple of 4KiB");
    }

    private static void refused(String text, String key, String what) {
        assertThatThrownBy(() -> parse(text))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining(key)
                .hasMessageContaining(what);
    }

    private static MdsConfig parse(String text) {
        return Config.parse("mds.toml", text, MdsConfig.class);
    }
}
