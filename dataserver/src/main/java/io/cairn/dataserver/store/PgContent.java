package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.chunk.ChunkOverlay;
import io.cairn.dataserver.chunk.ChunkOverlay.Range;
import io.cairn.dataserver.chunk.ChunkOverlay.View;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.PgOverlay;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.BitSet;
import java.util.NavigableSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What a PG has besides bytes, by overlay and index. Under the monitor of its {@link PgStore}: so
 * nothing leaves the overlay, and the index, whatever of the overlay it has already, shows the same
 * with it.
 */
final class PgContent {
    private final int pg;
    private final ChunkIndex index;
    private final PgOverlay overlay;

    PgContent(int pg, ChunkIndex index, PgOverlay overlay) {
        this.pg = pg;
        this.index = index;
        this.overlay = overlay;
    }

    /** What was done last to the chunk. */
    ChunkVersion version(long inode, int chunk) {
        return version(overlay.find(inode, chunk), index.head(pg, inode, chunk));
    }

    static ChunkVersion version(@Nullable ChunkOverlay o, @Nullable ChunkHead head) {
        ChunkVersion logged = o == null ? null : o.version();
        if (logged != null) {
            return logged;
        }
        return head == null ? ChunkVersion.NONE : head.version();
    }

    /** The newest truncation of the inode as a whole. */
    long inodeTruncateSequence(long inode) {
        return overlay.inodeTruncateSequence(inode, index.inodeTruncateSequence(pg, inode));
    }

    /** Of a chunk that is not here the length is 0, of an inode that has none the sequence. */
    ContentHead head(Key key) {
        long whole = inodeTruncateSequence(key.inode());
        if (key.isInode()) {
            return new ContentHead(key, ChunkVersion.NONE, whole, 0);
        }
        ChunkOverlay o = overlay.find(key.inode(), key.chunk());
        ChunkHead stored = index.head(pg, key.inode(), key.chunk());
        long own = stored == null ? 0 : stored.truncateSequence();
        own = o == null ? own : o.truncateSequence(own);
        View view = o == null ? View.EMPTY : o.view(0, 0);
        int length = view.length(stored == null ? 0 : stored.lengthBytes());
        ChunkVersion version = length == 0 ? ChunkVersion.NONE : version(o, stored);
        return new ContentHead(key, version, Math.max(own, whole), length);
    }

    /** The blocks of the chunk that are there, damaged ones too; others read as zeros. */
    BitSet blocks(Key key) {
        ChunkOverlay o = overlay.find(key.inode(), key.chunk());
        View view = o == null ? View.EMPTY : o.view();
        Stored stored = index.readAll(pg, key.inode(), key.chunk());
        BitSet there = new BitSet();
        int visible = view.visibleBase(stored.length());
        for (int b = 0; b < (visible + BlockCrc.BLOCK_BYTES - 1) / BlockCrc.BLOCK_BYTES; b++) {
            BlockGroup group = stored.group(b / ChunkKeys.GROUP_BLOCKS);
            there.set(b, group.location(b % ChunkKeys.GROUP_BLOCKS) != BlockGroup.ABSENT);
        }
        for (Range r : view.ranges()) {
            there.set(r.start() / BlockCrc.BLOCK_BYTES, (r.end() - 1) / BlockCrc.BLOCK_BYTES + 1);
        }
        return there;
    }

    /** The first keys after this one of what is in the overlay; some may have nothing. */
    NavigableSet<Key> loggedAfter(Key after, int max) {
        NavigableSet<Key> keys = new TreeSet<>();
        for (long inode : overlay.inodes()) {
            if (Long.compareUnsigned(inode, after.inode()) >= 0) {
                add(keys, new Key(inode, Key.INODE), after, max);
                for (int chunk : overlay.chunks(inode)) {
                    add(keys, new Key(inode, chunk), after, max);
                }
            }
        }
        return keys;
    }

    private static void add(NavigableSet<Key> keys, Key key, Key after, int max) {
        if (key.compareTo(after) > 0) {
            keys.add(key);
            if (keys.size() > max) {
                keys.removeLast();
            }
        }
    }
}
