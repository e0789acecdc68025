package io.cairn.dataserver.chunk;

import io.cairn.common.data.Split;
import io.cairn.common.rocks.PrefixIterator;
import io.cairn.dataserver.chunk.ChunkIndex.Update;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Gives the rows of the chunks that a split takes to the group that it makes, a bounded number at a
 * time. What is in the data file stays where it is. Which rows are still to be moved is seen by
 * their keys alone: after a crash between two batches another one begins from the start, passes
 * over what is the parent's for good, and goes on. A batch has all rows of a chunk or none. For the
 * flusher.
 */
public final class SplitRows {
    /** Groups of a chunk that stays which are passed one by one: a seek costs more than a few. */
    private static final int FEW_GROUPS = 4;

    private final ChunkIndex index;
    private final Split split;
    private final int parent;
    private final boolean keeps;
    private byte @Nullable [] next;

    /**
     * @param keeps false where the group has a history of its own on this disk already, which knows
     *     nothing of these rows: then they are removed
     */
    public SplitRows(ChunkIndex index, Split split, boolean keeps) {
        this.index = index;
        this.split = split;
        this.keeps = keeps;
        parent = split.parent();
        next = ChunkKeys.pg(parent);
    }

    /** Whether the rows are moved, and not removed. */
    public boolean keeps() {
        return keeps;
    }

    /**
     * Moves some rows; visible at once, durable with the next flush of the index.
     *
     * @param most rows that are looked at, but for the rest of a chunk
     * @param freed told of the blocks of rows that are removed
     * @return whether there may be more
     */
    public boolean move(int most, LongConsumer freed) {
        byte[] from = next;
        if (from == null) {
            return false;
        }
        try (Update update = new Update()) {
            if (!keeps && !index.hasPgState(split.child())) {
                // A start that finds the rest of these rows must know that they are of no use.
                update.putPgState(PgLogState.empty(split.child()));
            }
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
        try (PrefixIterator it = index.rows(ChunkKeys.pg(parent), from)) {
            while (it.isValid()) {
                byte[] key = it.key();
                if (seen++ >= most && !ChunkKeys.isGroup(key)) {
                    return key;
                }
                long inode = ChunkKeys.inodeOf(key);
                if (ChunkKeys.isInodeHead(key)) {
                    if (keeps) {
                        update.put(ChunkKeys.of(split.child(), key), it.value());
                    }
                    it.next();
                } else if (split.takes(inode, ChunkKeys.chunkOf(key))) {
                    take(update, key, it.value(), freed);
                    it.next();
                } else if (ChunkKeys.isGroup(key) && ChunkKeys.groupOf(key) >= FEW_GROUPS) {
                    it.seek(ChunkKeys.behindGroups(ChunkKeys.chunkHeadOf(key)));
                } else {
                    it.next();
                }
            }
        }
        return null;
    }

    private void take(Update update, byte[] key, byte[] value, LongConsumer freed) {
        if (keeps) {
            update.put(ChunkKeys.of(split.child(), key), value);
            update.remove(key);
        } else {
            update.removeRow(parent, key, value, freed);
        }
    }

    private void moveQuarantine(Update update) {
        index.quarantined()
                .forEach((block, why) -> {
                    if (block.pg() == parent && split.takes(block.inode(), block.chunk())) {
                        update.removeQuarantined(block);
                        if (keeps) {
                            update.putQuarantined(
                                    new BadBlock(
                                            split.child(),
                                            block.inode(),
                                            block.chunk(),
                                            block.block()),
                                    why);
                        }
                    }
                });
    }
}
