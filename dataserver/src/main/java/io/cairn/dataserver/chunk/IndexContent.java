package io.cairn.dataserver.chunk;

import io.cairn.dataserver.disk.BlockAllocator;
import org.jspecify.annotations.Nullable;

/**
 * What a start needs to know of an index's content.
 *
 * @param allocator of the whole disk; the superblock and the blocks that the index names are in use
 * @param truncated all inodes that the index has a truncate sequence of, and perhaps some more
 * @param readBecause why the content was read as a whole; null where its summary sufficed
 */
public record IndexContent(
        BlockAllocator allocator, TruncatedInodes truncated, @Nullable String readBecause) {}
