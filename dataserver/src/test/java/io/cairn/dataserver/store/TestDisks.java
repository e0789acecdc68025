package io.cairn.dataserver.store;

import io.cairn.common.config.Config;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.ground.DataServerConfig.DiskTable;
import java.nio.file.Path;

/** Disks with everything below one directory, configured as an administrator would. */
final class TestDisks {
    private TestDisks() {}

    /**
     * @param keys lines of the disk's table besides its directories; the rest has its default
     */
    static DiskConfig in(Path directory, String keys) {
        String file = directory.resolve("disk.toml").toString();
        String places = "data = 'data'\nwal = 'wal'\nindex = 'index'\n";
        return DiskConfig.of(Config.parse(file, places + keys, DiskTable.class));
    }
}
