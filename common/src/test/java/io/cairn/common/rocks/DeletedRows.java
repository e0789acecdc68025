package io.cairn.common.rocks;

import java.nio.file.Path;
import org.rocksdb.PerfContext;
import org.rocksdb.PerfLevel;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** How many deleted rows RocksDB walks over, by its own count for the calling thread. */
public final class DeletedRows {
    private DeletedRows() {}

    /**
     * @param directory for a database of its own: the count belongs to the thread, whatever it
     *     reads
     */
    public static long walkedOver(Path directory, Runnable reads) throws RocksDBException {
        try (RocksDB any = RocksDB.open(directory.toString())) {
            any.setPerfLevel(PerfLevel.ENABLE_COUNT);
            try (PerfContext count = any.getPerfContext()) {
                count.reset();
                reads.run();
                return count.getInternalDeleteSkippedCount();
            } finally {
                any.setPerfLevel(PerfLevel.DISABLE);
            }
        }
    }
}
