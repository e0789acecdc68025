package io.cairn.dataserver.pg;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * The blocks of a disk that were found damaged since the server started: how many, and which of
 * them are in quarantine, that is, no replica could give their content. They stay as they are, and
 * reads of them fail, until they are overwritten or a replica gives them after all. Any thread.
 */
public final class FoundDamage {
    /** More than these are not remembered: they are found again. */
    private static final int MAX_QUARANTINED = 65_536;

    private final LongAdder found = new LongAdder();
    private final LongAdder repaired = new LongAdder();

    /** Why each could not be repaired, in the order in which they were found. Guarded by this. */
    private final Map<BadBlock, String> quarantined = new LinkedHashMap<>();

    /** A block cannot be read or does not match its checksum. */
    public void found() {
        found.increment();
    }

    /** One of them can be read again. */
    public void repaired() {
        repaired.increment();
    }

    /** It was not repaired. */
    public synchronized void quarantine(BadBlock block, String why) {
        if (quarantined.size() < MAX_QUARANTINED) {
            quarantined.put(block, why);
        }
    }

    /** Whether it is known that it was not repaired. */
    public synchronized boolean isQuarantined(BadBlock block) {
        return quarantined.containsKey(block);
    }

    /** These blocks of a chunk can be read, or are no longer there. */
    public synchronized void readable(int pg, long inode, int chunk, int first, int count) {
        quarantined
                .keySet()
                .removeIf(b ->
                        b.pg() == pg
                                && b.inode() == inode
                                && b.chunk() == chunk
                                && b.block() >= first
                                && b.block() < first + count);
    }

    /** Those in quarantine, and why each is. */
    public synchronized Map<BadBlock, String> quarantined() {
        return new LinkedHashMap<>(quarantined);
    }

    /** What an administrator should know, one sentence; none if nothing was found. */
    List<String> warnings() {
        long blocks = found.sum();
        return blocks == 0
                ? List.of()
                : List.of(
                        "damaged or unreadable blocks: %d found since the data server started, %d of them repaired from other replicas; check the device (kernel log, SMART)"
                                .formatted(blocks, repaired.sum()));
    }
}
