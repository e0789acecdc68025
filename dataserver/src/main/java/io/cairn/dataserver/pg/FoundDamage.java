package io.cairn.dataserver.pg;

import io.cairn.dataserver.chunk.BadBlock;
import io.cairn.dataserver.store.ScrubStore;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The blocks of a disk that were found damaged: how many since the server started, and which are in
 * quarantine, that is, no replica could give their content. They stay as they are, and reads of
 * them fail, until they are overwritten or a replica gives them after all. The disk remembers those
 * in quarantine. Any thread.
 */
public final class FoundDamage {
    /** More than these are not remembered: they are found again. */
    private static final int MAX_QUARANTINED = 65_536;

    private final ScrubStore store;
    private final Consumer<Runnable> later;
    private final ReentrantLock noting = new ReentrantLock();
    private final LongAdder found = new LongAdder();
    private final LongAdder repaired = new LongAdder();

    /** Why each could not be repaired, in the order in which they were found. Guarded by this. */
    private final Map<BadBlock, String> quarantined;

    /**
     * @param store has what was in quarantine before
     * @param later runs what waits for the disk
     */
    FoundDamage(ScrubStore store, Consumer<Runnable> later) {
        this.store = store;
        this.later = later;
        this.quarantined = new LinkedHashMap<>(store.quarantined());
    }

    /** A block cannot be read or does not match its checksum. */
    public void found() {
        found.increment();
    }

    /** One of them can be read again. */
    public void repaired() {
        repaired.increment();
    }

    /** It was not repaired. */
    public void quarantine(BadBlock block, String why) {
        synchronized (this) {
            if (quarantined.size() >= MAX_QUARANTINED) {
                return;
            }
            quarantined.put(block, why);
        }
        later.accept(() -> note(block));
    }

    /** As it is when this runs: so the order in which it runs does not matter. */
    private void note(BadBlock block) {
        noting.lock();
        try {
            @Nullable String why;
            synchronized (this) {
                why = quarantined.get(block);
            }
            store.noteQuarantine(block, why);
        } finally {
            noting.unlock();
        }
    }

    /** Whether it is known that it was not repaired. */
    public synchronized boolean isQuarantined(BadBlock block) {
        return quarantined.containsKey(block);
    }

    /** These blocks of a chunk can be read, or are no longer there. */
    public void readable(int pg, long inode, int chunk, int first, int count) {
        List<BadBlock> well = new ArrayList<>();
        synchronized (this) {
            for (BadBlock b : quarantined.keySet()) {
                if (b.pg() == pg
                        && b.inode() == inode
                        && b.chunk() == chunk
                        && b.block() >= first
                        && b.block() < first + count) {
                    well.add(b);
                }
            }
            quarantined.keySet().removeAll(well);
        }
        well.forEach(block -> later.accept(() -> note(block)));
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
