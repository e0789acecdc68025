package io.cairn.dataserver.pg;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the blocks of a disk that were found damaged since the server started. They are read from
 * other replicas and repaired, so nothing else shows that the device begins to fail. Any thread.
 */
public final class FoundDamage {
    private final LongAdder found = new LongAdder();
    private final LongAdder repaired = new LongAdder();

    /** A block cannot be read or does not match its checksum. */
    public void found() {
        found.increment();
    }

    /** One of them can be read again. */
    public void repaired() {
        repaired.increment();
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
