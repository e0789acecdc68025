package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.IndexContent;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DiskHold;
import io.cairn.dataserver.disk.RunMark;
import io.cairn.dataserver.wal.Wal;
import java.util.Map;
import java.util.UUID;

/** The parts of a disk as {@link DiskRecovery} found them. */
record OpenedDisk(
        UUID uuid,
        Wal wal,
        DataFile data,
        ChunkIndex index,
        IndexContent content,
        SpaceAccount space,
        SpaceKeeper keeper,
        Map<Integer, PgStore> pgs,
        GroupSplits splits,
        GroupMerges merges,
        DiskHold hold,
        RunMark mark) {

    BlockAllocator allocator() {
        return content.allocator();
    }

    /** For threads: the beginning of the uuid tells the disks of a process apart. */
    String name() {
        return nameOf(uuid);
    }

    static String nameOf(UUID uuid) {
        return "disk-" + uuid.toString().substring(0, 8);
    }
}
