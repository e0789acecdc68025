package io.cairn.mds.namespace;

import io.cairn.common.proto.Timespec;
import io.cairn.mds.proto.OrphanPlace;
import io.cairn.mds.proto.OrphanRecord;

/**
 * What a pool has of an inode that no file has there, and whose it is by the same state.
 *
 * @param owner may have become that of a file, or of a deleted one, since it was noted
 */
public record OrphanedInode(int pool, long inode, OrphanRecord record, Ownership owner) {
    public long bytes() {
        return OrphanedData.bytes(record);
    }

    public long chunks() {
        return record.getPlacesList().stream().mapToLong(OrphanPlace::getChunks).sum();
    }

    /** In the deletion queue. */
    public boolean isRemoving() {
        return record.getDeletion() != 0;
    }

    /** Found again, by a later look, after so long at least. */
    public boolean isProven(long ageSeconds) {
        Timespec first = record.getFirstSeen();
        Timespec last = record.getLastSeen();
        long seconds = last.getSeconds() - first.getSeconds();
        int nanos = last.getNanos() - first.getNanos();
        boolean later = seconds > 0 || (seconds == 0 && nanos > 0);
        return later && (seconds > ageSeconds || (seconds == ageSeconds && nanos >= 0));
    }
}
