package io.cairn.common.rocks;

import io.cairn.common.file.Durable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Where the files of one database lie: its directory, and the directories of its tables in the
 * order of RocksDB's {@code db_paths} (fast, slow), which is the directory itself when it has no
 * others.
 *
 * <p>RocksDB aborts the process when a database is opened with fewer paths than it was written
 * with. Their number is therefore recorded beside the database, in {@value #RECORD}, and checked
 * first.
 */
record DatabasePaths(Path directory, List<Path> tables) {
    static final String RECORD = "cairn-paths";

    static DatabasePaths of(Path directory, String name, RocksConfig config) {
        if (config.fastPath().isEmpty()) {
            return new DatabasePaths(directory, List.of(directory));
        }
        return new DatabasePaths(
                directory,
                List.of(
                        config.fastPath().get().resolve(name),
                        config.slowPath().orElseThrow().resolve(name)));
    }

    boolean split() {
        return tables.size() > 1;
    }

    /**
     * Creates the directories and the record, or refuses a database with another number of paths.
     */
    void prepare() throws IOException {
        Files.createDirectories(directory);
        for (Path table : tables) {
            Files.createDirectories(table);
        }
        Path record = directory.resolve(RECORD);
        if (Files.exists(record)) {
            String known = Files.readString(record).strip();
            if (!known.equals(Integer.toString(tables.size()))) {
                throw new IOException(
                        directory
                                + " was written with "
                                + known
                                + " path(s) but "
                                + tables.size()
                                + " configured: set fast_path and slow_path as they were");
            }
            return;
        }
        if (Files.exists(directory.resolve("CURRENT"))) {
            throw new IOException(
                    directory
                            + " holds a RocksDB database that Cairn did not make: "
                            + RECORD
                            + " is missing");
        }
        Durable.write(record, tables.size() + "\n");
    }
}
