package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.chunk.ChunkOverlay;
import io.cairn.dataserver.chunk.ChunkOverlay.Range;
import io.cairn.dataserver.chunk.ChunkOverlay.Truncated;
import io.cairn.dataserver.chunk.ChunkOverlay.View;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgOverlay;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.BitSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What a PG has besides bytes, by overlay and index. As {@link ChunkReader}, it looks at the
 * overlay first, and looks again should the index show something newer: the PG's owner never waits
 * for the index. Any thread.
 */
final class PgContent {
    private final PgStore store;
    private final ChunkIndex index;

    PgContent(PgStore store, ChunkIndex index) {
        this.store = store;
        this.index = index;
    }

    /**
     * The overlay of a chunk and its inode as it was at one moment.
     *
     * @param version null if the overlay does not say
     * @param whole what is logged of the inode as a whole
     */
    record Logged(
            PgStore.Look look,
            @Nullable ChunkVersion version,
            Truncated truncated,
            List<LoggedOp> whole) {
        static Logged of(PgOverlay overlay, Key key, boolean ranges, long lastOrder) {
            ChunkOverlay o = key.isInode() ? null : overlay.find(key.inode(), key.chunk());
            List<LoggedOp> whole = List.copyOf(overlay.whole(key.inode()));
            if (o == null) {
                PgStore.Look nothing = new PgStore.Look(View.EMPTY, lastOrder);
                return new Logged(nothing, null, Truncated.NOTHING, whole);
            }
            View view = ranges ? o.view() : o.view(0, 0);
            return new Logged(new PgStore.Look(view, lastOrder), o.version(), o.truncated(), whole);
        }

        /** Of the chunk, over its head in the index; 0 if it does not exist. */
        int length(@Nullable ChunkHead stored) {
            return look.view().length(stored == null ? 0 : stored.lengthBytes());
        }

        /** The newest truncation of a chunk that exists, over its head in the index. */
        long truncated(@Nullable ChunkHead stored) {
            return truncated.over(ChunkHead.truncateSequence(stored));
        }

        /** The newest truncation of the inode as a whole, over what the index says. */
        long wholeTruncated(long stored) {
            return PgOverlay.inodeTruncateSequence(whole, stored);
        }
    }

    /** Of a chunk that is not here the length is 0, of an inode that has none the sequence. */
    ContentHead head(Key key) {
        Logged logged;
        long whole;
        ChunkHead stored;
        do { // again only after a round of the flusher that began after the look
            logged = store.lookAt(key, false);
            whole = index.inodeTruncateSequence(store.pg(), key.inode());
            stored = key.isInode() ? null : index.head(store.pg(), key.inode(), key.chunk());
        } while (!store.fitsIndex(logged.look()));
        if (key.isInode()) {
            return new ContentHead(key, ChunkVersion.NONE, logged.wholeTruncated(whole), 0);
        }
        int length = logged.length(stored);
        return length == 0
                ? new ContentHead(key, ChunkVersion.NONE, logged.wholeTruncated(whole), 0)
                : new ContentHead(
                        key, version(logged.version(), stored), logged.truncated(stored), length);
    }

    /**
     * The newest truncation of a chunk: its own if it exists, else that of its inode. For the PG's
     * owner, which appends nothing meanwhile; see {@link ChunkIndex#headPromptly}.
     */
    long truncateSequencePromptly(Key key) {
        Logged logged = store.lookAt(key, false);
        ChunkHead stored = index.headPromptly(store.pg(), key.inode(), key.chunk());
        return logged.length(stored) == 0
                ? logged.wholeTruncated(
                        index.inodeTruncateSequencePromptly(store.pg(), key.inode()))
                : logged.truncated(stored);
    }

    static ChunkVersion version(@Nullable ChunkVersion logged, @Nullable ChunkHead head) {
        if (logged != null) {
            return logged;
        }
        return head == null ? ChunkVersion.NONE : head.version();
    }

    /**
     * Which blocks of a chunk are there, damaged ones too; others read as zeros.
     *
     * @param changed those of them that an operation after the one asked for may have changed
     */
    record Blocks(BitSet there, BitSet changed) {}

    /**
     * @param since sequence of an operation
     */
    Blocks blocks(Key key, long since) {
        Logged logged;
        Stored stored;
        do {
            logged = store.lookAt(key, true);
            stored = index.readAll(store.pg(), key.inode(), key.chunk());
        } while (!store.fitsIndex(logged.look()));
        View view = logged.look().view();
        Blocks blocks = ofBase(stored, view.visibleBase(stored.length()), since);
        long version = version(logged.version(), stored.head()).sequence();
        for (Range r : view.ranges()) {
            int first = r.start() / BlockCrc.BLOCK_BYTES;
            int end = (r.end() - 1) / BlockCrc.BLOCK_BYTES + 1;
            blocks.there().set(first, end);
            if (view.changed(List.of(r), version) > since) {
                blocks.changed().set(first, end);
            }
        }
        return blocks;
    }

    /** A block through which the base is cut has changed; when, is not looked for. */
    private static Blocks ofBase(Stored stored, int visible, long since) {
        BitSet there = new BitSet();
        BitSet changed = new BitSet();
        ChunkHead head = stored.head();
        for (int b = 0; b < (visible + BlockCrc.BLOCK_BYTES - 1) / BlockCrc.BLOCK_BYTES; b++) {
            BlockGroup group = stored.group(b / ChunkKeys.GROUP_BLOCKS);
            int i = b % ChunkKeys.GROUP_BLOCKS;
            if (group.location(i) != BlockGroup.ABSENT) {
                long by =
                        group.changed(i) == 0 && head != null ? head.sequence() : group.changed(i);
                there.set(b);
                changed.set(b, by > since);
            }
        }
        int cut = visible / BlockCrc.BLOCK_BYTES;
        if (visible < stored.length() && visible % BlockCrc.BLOCK_BYTES != 0 && there.get(cut)) {
            changed.set(cut);
        }
        return new Blocks(there, changed);
    }

    /** The first keys after this one of what is in the overlay; some may have nothing. */
    static NavigableSet<Key> loggedAfter(PgOverlay overlay, Key after, int max) {
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
