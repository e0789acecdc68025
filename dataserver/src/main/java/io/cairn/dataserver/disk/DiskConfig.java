package io.cairn.dataserver.disk;

import io.cairn.common.config.KeyException;
import io.cairn.dataserver.ground.DataServerConfig.DiskTable;
import java.nio.file.Path;

/**
 * Where one disk keeps its parts and how it is run. Validates itself; throws {@link KeyException}.
 *
 * @param data the data file or raw block device (HDD)
 * @param wal directory of the write-ahead log (SSD)
 * @param index directory of the chunk index (SSD)
 * @param capacityBytes size of the data file when it is made; for a block device 0 takes all of it
 * @param walBytes size of the write-ahead log: a multiple of the segment size, at least 4 of them
 * @param walSegmentBytes size of one segment, a multiple of 4 KiB
 * @param headroomBytes space of the data file that only deletes and merges may use; {@link
 *     #SHARE_OF_CAPACITY} takes the default for the size the disk has
 * @param minimumFreeBytes free space below which the file systems of index and data file admit no
 *     writes
 * @param flushIntervalMillis how long an operation may wait for the flusher while the WAL is idle
 * @param ioThreads threads that read
 * @param directWriteBytes writes at least as long go to new blocks of the data file, not through
 *     the write-ahead log; 0: none
 */
public record DiskConfig(
        Path data,
        Path wal,
        Path index,
        long capacityBytes,
        long walBytes,
        int walSegmentBytes,
        long headroomBytes,
        long minimumFreeBytes,
        long flushIntervalMillis,
        int ioThreads,
        int directWriteBytes) {
    /** As headroom: a share of the size that the disk turns out to have. */
    public static final long SHARE_OF_CAPACITY = -1;

    public DiskConfig {
        DiskTable.checkSizes(capacityBytes, walBytes, walSegmentBytes, directWriteBytes);
        KeyException.require(
                headroomBytes >= SHARE_OF_CAPACITY, "headroom", "must not be negative");
        KeyException.require(minimumFreeBytes >= 0, "minimum_free", "must not be negative");
        KeyException.require(flushIntervalMillis >= 1, "flush_interval", "must be at least 1 ms");
        KeyException.require(ioThreads >= 1 && ioThreads <= 256, "io_threads", "must be 1 to 256");
    }

    /** What the administrator wrote; what has no key of its own gets its default. */
    public static DiskConfig of(DiskTable table) {
        return new DiskConfig(
                table.data(),
                table.wal(),
                table.index(),
                table.capacity().bytes(),
                table.walSize().bytes(),
                Math.toIntExact(table.walSegment().bytes()),
                SHARE_OF_CAPACITY,
                table.minimumFree().bytes(),
                table.flushInterval().toMillis(),
                table.ioThreads(),
                Math.toIntExact(table.directWrite().bytes()));
    }

    /**
     * The headroom of a disk, by default 1 % of it, at least 256 KiB, at most 1 GiB.
     *
     * @param diskBytes its real size: the configured one is 0 for a whole device, and that of a
     *     disk made with another one does not count
     */
    public long headroomBytes(long diskBytes) {
        return headroomBytes == SHARE_OF_CAPACITY
                ? Math.clamp(diskBytes / 100, 256L << 10, 1L << 30)
                : headroomBytes;
    }

    public int walSegments() {
        return Math.toIntExact(walBytes / walSegmentBytes);
    }
}
