package io.cairn.dataserver.chunk;

import io.cairn.common.data.Merge;
import io.cairn.common.rocks.PrefixIterator;
import io.cairn.dataserver.chunk.ChunkIndex.Update;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Gives the rows of a group that a merge takes in to the group that goes on, a bounded number at a
 * time. What is in the data file stays where it is. Whatever is left under the number of the group
 * that ends is still to be moved: a crash between two batches costs nothing. A batch has all rows
 * of a chunk or none.
 *
 * <p>In the history of the group that goes on, all of it was changed by the merge: so it says in
 * each row. Sequences of the other history would mean nothing there. For the flusher.
 */
public final class MergeRows {
    private final ChunkIndex index;
    private final Merge merge;
    private final long epoch;
    private final long sequence;
    private final boolean keeps;
    private byte @Nullable [] next;

    /**
     * @param epoch of the operation
     * @param sequence of the operation
     * @param keeps false where the rows are not all there is: then they are removed, and all of it
     *     has to be copied
     */
    public MergeRows(ChunkIndex index, Merge merge, long epoch, long sequence, boolean keeps) {
        this.index = index;
        this.merge = merge;
        this.epoch = epoch;
        this.sequence = sequence;
        this.keeps = keeps;
        next = ChunkKeys.pg(merge.child());
    }

    /** Whether the rows are moved, and not removed. */
    public boolean keeps() {
        return keeps;
    }

    /**
     * Moves some rows; visible at once, durable with the next flush of the index.
     *
     * @param most rows, but for the rest of a chunk
     * @param freed told of the blocks of rows that are removed
     * @return whether there may be more
     */
    public boolean move(int most, LongConsumer freed) {
        byte[] from = next;
        if (from == null) {
            return false;
        }
        try (Update update = new Update()) {
            next = move(update, from, most, freed);
            if (next == null) {
                moveQuarantine(update);
            }
            index.apply(update);
        }
        return next != null;
    }

    private byte @Nullable [] move(Update update, byte[] from, int most, LongConsumer freed) {
        int seen = 0;
        try (PrefixIterator it = index.rows(ChunkKeys.pg(merge.child()), from)) {
            for (; it.isValid(); it.next()) {
                byte[] key = it.key();
                if (seen++ >= most && !ChunkKeys.isGroup(key)) {
                    return key;
                }
                if (keeps) {
                    take(update, key, it.value());
                } else {
                    update.removeRow(merge.child(), key, it.value(), freed);
                }
            }
        }
        return null;
    }

    private void take(Update update, byte[] key, byte[] value) {
        byte[] there = ChunkKeys.of(merge.parent(), key);
        if (ChunkKeys.isInodeHead(key)) {
            long inode = ChunkKeys.inodeOf(key);
            long known = index.inodeTruncateSequence(merge.parent(), inode);
            update.putInodeHead(
                    merge.parent(), inode, Math.max(known, InodeHeadFormat.decode(value)));
        } else if (ChunkKeys.isGroup(key)) {
            update.put(there, BlockGroupFormat.encode(changed(BlockGroupFormat.decode(value))));
        } else {
            ChunkHead head = ChunkHeadFormat.decode(value);
            update.put(
                    there,
                    ChunkHeadFormat.encode(
                            new ChunkHead(
                                    epoch, sequence, head.truncateSequence(), head.lengthBytes())));
        }
        update.remove(key);
    }

    private BlockGroup changed(BlockGroup group) {
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            if (group.stored(i)) {
                group.set(i, group.location(i), group.crc(i), sequence);
            }
        }
        return group;
    }

    private void moveQuarantine(Update update) {
        index.quarantined()
                .forEach((block, why) -> {
                    if (block.pg() == merge.child()) {
                        update.removeQuarantined(block);
                        if (keeps) {
                            update.putQuarantined(
                                    new BadBlock(
                                            merge.parent(),
                                            block.inode(),
                                            block.chunk(),
                                            block.block()),
                                    why);
                        }
                    }
                });
    }
}
