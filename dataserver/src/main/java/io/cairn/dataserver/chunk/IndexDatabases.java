package io.cairn.dataserver.chunk;

import io.cairn.common.metrics.Meters;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.dataserver.disk.FatalHandler;
import java.io.IOException;
import java.nio.file.Path;

/**
 * How the process's RocksDB databases are run. Any thread.
 *
 * @param memory shared by all databases of the process
 */
public record IndexDatabases(RocksConfig config, RocksMemory memory, Meters meters) {
    /**
     * @param name unique in the process, the same at each start
     */
    RocksDatabase open(Path directory, String name, FatalHandler fatal) throws IOException {
        return RocksDatabase.open(
                directory,
                name,
                config,
                memory,
                meters,
                problem -> fatal.fatal("the chunk index failed", new IOException(problem)));
    }
}
