package io.cairn.dataserver.ground;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.config.ConfigException;
import io.cairn.common.config.ConfigRecordContract;
import java.util.List;
import org.junit.jupiter.api.Test;

class DataServerConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return DataServerConfig.class;
    }

    @Test
    void theFastDeviceIsOneForTheIndexesOfAllDisks() {
        DataServerConfig twelve = config(12, "120GiB");
        assertThat(twelve.rocksdbOfEachDisk().fastSize()).contains(ByteSize.ofMiB(10 << 10));
        assertThat(config(1, "120GiB").rocksdbOfEachDisk().fastSize())
                .contains(ByteSize.ofMiB(120 << 10));
        assertThatThrownBy(() -> config(12, "29GiB"))
                .isInstanceOf(ConfigException.class)
                .hasMessageContaining(
                        "rocksdb.fast_size: is shared by 12 databases, each of which needs at least"
                                + " 2560MiB: give it 30GiB or more");
    }

    @Test
    void anAddressThatNobodyCanConnectToIsNotRegistered() {
        String rest = "state_dir = '/s'\n[[disk]]\ndata = '/d'\nwal = '/w'\nindex = '/i'\n";
        for (String listen : List.of("0.0.0.0:7100", "[::]:7100")) {
            String toml = "listen = '" + listen + "'\n";
            assertThatThrownBy(() -> Config.parse("d.toml", toml + rest, DataServerConfig.class))
                    .isInstanceOf(ConfigException.class)
                    .hasMessageContaining("advertise: must be given where listen is");
            String advertised = toml + "advertise = 'data1:7100'\n" + rest;
            assertThat(Config.parse("d.toml", advertised, DataServerConfig.class)).isNotNull();
        }
    }

    private static DataServerConfig config(int disks, String fastSize) {
        StringBuilder toml = new StringBuilder("listen = '127.0.0.1:0'\nstate_dir = '/s'\n");
        for (int i = 0; i < disks; i++) {
            toml.append(
                    "[[disk]]\ndata = '/d%d'\nwal = '/w%d'\nindex = '/i%d'\n".formatted(i, i, i));
        }
        toml.append("[rocksdb]\nfast_path = '/f'\nslow_path = '/h'\nlevel_sizing = 'auto'\n");
        toml.append("fast_size = '").append(fastSize).append("'\n");
        return Config.parse("d.toml", toml.toString(), DataServerConfig.class);
    }
}
