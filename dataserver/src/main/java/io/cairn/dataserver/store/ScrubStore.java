package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.BadBlock;
import io.cairn.dataserver.chunk.ScrubStamps;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a disk does for scrubs of the PGs that it has replicas of. */
public interface ScrubStore {
    /**
     * Reads a chunk from the medium, past the kernel's cache where the file system allows it, and
     * verifies every block. Who {@link DiskStore#onDamage hears of damage} is told of each bad one.
     * Blocks; one call at a time.
     *
     * @throws io.cairn.dataserver.chunk.IndexDamagedException if the index cannot be read
     * @throws CorruptBlockException if the chunk cannot be read, and no block can be blamed for it
     */
    default ChunkCheck check(int pg, Key key, Pace pace)
            throws CorruptBlockException, InterruptedException {
        throw new UnsupportedOperationException();
    }

    /** When the PG was scrubbed; null if that was never noted. */
    default @Nullable ScrubStamps scrubStamps(int pg) {
        return null;
    }

    /** Notes when the PG was scrubbed: durable with the next flush of the index. */
    default void noteScrub(int pg, ScrubStamps stamps) {}

    /** What the last scrub of the PG found, for the administrator, as far as it was noted. */
    default List<String> findings(int pg) {
        return List.of();
    }

    /** Notes what a scrub found: durable with the next flush of the index. */
    default void noteFindings(int pg, List<String> texts) {}

    /** The blocks in quarantine, as far as they were noted, and why each is. */
    default Map<BadBlock, String> quarantined() {
        return Map.of();
    }

    /**
     * Notes that a block is in quarantine, or is no more: durable with the next flush of the index.
     * May wait for the index.
     *
     * @param why it is; null if it is not
     */
    default void noteQuarantine(BadBlock block, @Nullable String why) {}

    /** Reads that wait for a thread of the disk, by which a scrub sees that it is in the way. */
    default int waitingReads() {
        return 0;
    }

    /** Asked before each piece that is read. */
    interface Pace {
        /** Returns when so many bytes may be read. */
        void before(int bytes) throws InterruptedException;
    }
}
