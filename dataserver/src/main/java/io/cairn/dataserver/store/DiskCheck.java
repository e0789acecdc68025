package io.cairn.dataserver.store;

import io.cairn.common.rocks.RocksDatabase;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.DiskStateFormat.DiskState;
import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskFormatter;
import io.cairn.dataserver.disk.DiskHold;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.Superblock;
import java.io.IOException;
import java.util.List;
import java.util.UUID;

/**
 * Reads the whole index of a disk that no data server has open, and compares it with the summary
 * that a start believes. One thread.
 */
public final class DiskCheck {
    private DiskCheck() {}

    /**
     * What was found.
     *
     * @param pgs number of placement groups that have a history on the disk
     * @param differences a line for each; empty if a start may believe the summary
     */
    public record Report(UUID disk, int pgs, List<String> differences) {}

    /**
     * Blocks while the index is read: some ten seconds for a million chunks.
     *
     * @param forget whether the summary is removed where something differs: then the next start
     *     reads the whole index
     * @throws DiskOpenException if there is no disk, its index cannot be read, or it is in use
     */
    public static Report check(DiskConfig config, IndexDatabases databases, boolean forget)
            throws DiskOpenException {
        try (DiskHold _ = DiskHold.of(config)) {
            Superblock superblock = new DiskFormatter(config, DeviceFiles.system()).existing();
            if (!RocksDatabase.exists(config.index())) {
                throw new DiskOpenException(
                        "the index of disk %s is gone (%s): mount its file system, or put it back; %s"
                                .formatted(
                                        superblock.disk(),
                                        config.index(),
                                        DiskOpenException.KEEP_AS_IT_IS));
            }
            try (ChunkIndex index =
                    ChunkIndex.open(
                            config.index(),
                            superblock.disk(),
                            databases,
                            DiskCalls.unwatched(),
                            (w, e) -> {})) {
                Report report = check(superblock, index);
                if (forget && !report.differences().isEmpty()) {
                    index.forgetSummary();
                }
                return report;
            }
        } catch (IOException | IndexDamagedException e) {
            throw new DiskOpenException(
                    "cannot check disk " + config.data() + ": " + e.getMessage(), e);
        }
    }

    private static Report check(Superblock superblock, ChunkIndex index) {
        DiskState state = index.diskState();
        if (state == null || !state.disk().equals(superblock.disk())) {
            return new Report(
                    superblock.disk(),
                    0,
                    List.of("the index is " + (state == null ? "empty" : "of " + state.disk())));
        }
        List<String> differences;
        try {
            differences =
                    index.summaryDifferences(superblock.capacityBytes() / DataFile.BLOCK_BYTES);
        } catch (IllegalStateException e) {
            differences = List.of("the index names what it cannot: " + e.getMessage());
        }
        return new Report(superblock.disk(), index.pgStates().size(), differences);
    }
}
