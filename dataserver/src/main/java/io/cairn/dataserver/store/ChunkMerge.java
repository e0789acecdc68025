package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.chunk.ChunkOverlay;
import io.cairn.dataserver.chunk.ChunkOverlay.Range;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.wal.Crc;
import io.cairn.dataserver.wal.PayloadReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings what the WAL has of one chunk into its blocks. A block that one operation overwrites as a
 * whole is overwritten in place: that image is durable in the WAL, so a replay repairs a torn
 * write, whatever operations it takes in one round. A block that is all of a large write keeps the
 * place it has in the data file. Any other, also one that several operations cover only together,
 * is merged into a new block, so that a replay finds the old one as it was. A block whose source
 * cannot be read or does not match its checksum is damaged: then the chunk is not merged at all,
 * and keeps what it has. For the flusher.
 */
final class ChunkMerge {
    private static final Logger LOG = LoggerFactory.getLogger(ChunkMerge.class);
    private static final int BLOCK = DataFile.BLOCK_BYTES;

    private final DataFile data;
    private final BlockAllocator allocator;
    private final FreshBlocks fresh;
    private final Set<Long> adopted;
    private final StagedBlocks staged;
    private final FreedBlocks freed;
    private final PayloadReader payloads;
    private final Stored stored;
    private final ChunkOverlay.View view;
    private final int visible;
    private final long version;
    private final Map<Integer, BlockGroup> groups = new HashMap<>();
    private final TreeSet<Integer> changed = new TreeSet<>();
    private final List<Integer> damaged = new ArrayList<>(0);
    private final List<NewBlock> homeless = new ArrayList<>();
    private final List<InPlace> inPlace = new ArrayList<>();
    private final List<Long> released = new ArrayList<>();
    private final List<Long> kept = new ArrayList<>(0);
    private String name = "";

    private record NewBlock(int block, ByteBuffer image, int crc, long changed) {}

    private record InPlace(long location, ByteBuffer image) {}

    /**
     * @param version sequence of the last operation on the chunk
     */
    ChunkMerge(
            Stored stored,
            ChunkOverlay.View view,
            long version,
            DataFile data,
            BlockAllocator allocator,
            FreshBlocks fresh,
            Set<Long> adopted,
            StagedBlocks staged,
            FreedBlocks freed,
            PayloadReader payloads) {
        this.stored = stored;
        this.view = view;
        this.version = version;
        this.visible = view.visibleBase(stored.length());
        this.data = data;
        this.allocator = allocator;
        this.fresh = fresh;
        this.adopted = adopted;
        this.staged = staged;
        this.freed = freed;
        this.payloads = payloads;
    }

    /** The chunk's new length; at 0 it is removed. */
    int length() {
        return view.length(stored.length());
    }

    /**
     * Reads and merges; changes nothing yet.
     *
     * @param chunkName for messages
     */
    void prepare(String chunkName) throws IOException {
        name = chunkName;
        freeBeyondCut();
        for (Map.Entry<Integer, List<Range>> e : touched().entrySet()) {
            merge(e.getKey(), e.getValue());
        }
    }

    /** Stages the blocks and puts the chunk's changes into the update; not if one is damaged. */
    void finish(ChunkIndex.Update update, int pg, long inode, int chunk, ChunkHead newest) {
        inPlace.forEach(b -> staged.stage(b.location(), b.image()));
        released.forEach(freed::add);
        adopted.addAll(kept);
        settle();
        if (newest.lengthBytes() == 0) {
            update.removeHead(pg, inode, chunk);
        } else {
            update.putHead(pg, inode, chunk, newest);
        }
        for (int g : changed) {
            BlockGroup after = group(g * ChunkKeys.GROUP_BLOCKS);
            update.putGroup(pg, inode, chunk, g, stored.group(g), after);
        }
    }

    /** Blocks that are needed and damaged. */
    List<Integer> damaged() {
        return damaged;
    }

    /** Blocks with their ranges, in order; the one the cut goes through has perhaps none. */
    private Map<Integer, List<Range>> touched() {
        Map<Integer, List<Range>> touched = new TreeMap<>();
        for (Range r : view.ranges()) {
            for (int b = r.start() / BLOCK; b <= (r.end() - 1) / BLOCK; b++) {
                touched.computeIfAbsent(b, k -> new ArrayList<>(2)).add(r);
            }
        }
        if (visible < stored.length() && visible % BLOCK != 0) {
            touched.putIfAbsent(visible / BLOCK, List.of());
        }
        return touched;
    }

    /** Blocks wholly beyond the cut; those written again become in-place images first. */
    private void freeBeyondCut() {
        if (visible >= stored.length()) {
            return;
        }
        TreeSet<Integer> rewritten = new TreeSet<>();
        for (Range r : view.ranges()) {
            for (int b = r.start() / BLOCK; b <= (r.end() - 1) / BLOCK; b++) {
                rewritten.add(b);
            }
        }
        int firstGone = (visible + BLOCK - 1) / BLOCK;
        for (Map.Entry<Integer, BlockGroup> e : stored.groups().entrySet()) {
            int base = e.getKey() * ChunkKeys.GROUP_BLOCKS;
            for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
                if (base + i >= firstGone
                        && e.getValue().location(i) != BlockGroup.ABSENT
                        && !rewritten.contains(base + i)) {
                    release(base + i);
                    group(base + i).clear(i);
                }
            }
        }
    }

    private void merge(int block, List<Range> ranges) throws IOException {
        int start = block * BLOCK;
        int i = block % ChunkKeys.GROUP_BLOCKS;
        BlockGroup g = group(block);
        boolean dependent = g.location(i) != BlockGroup.ABSENT && showsBase(block, ranges);
        if (ranges.isEmpty() && !dependent) {
            return;
        }
        if (ranges.size() == 1 && adopt(block, ranges.getFirst())) {
            return;
        }
        ByteBuffer image = staged.newImage();
        boolean intact = !dependent || readBase(block, image);
        for (Range r : ranges) {
            int from = Math.max(r.start(), start);
            int to = Math.min(r.end(), start + BLOCK);
            intact &= readRange(r, from, to, image, from - start);
        }
        if (!intact) {
            damaged.add(block);
            return;
        }
        changed.add(block / ChunkKeys.GROUP_BLOCKS);
        int crc = Crc.of(image, 0, BLOCK);
        if (g.stored(i) && !fresh.contains(g.location(i)) && hasWholeImage(block, ranges)) {
            inPlace.add(new InPlace(g.location(i), image));
            g.set(i, g.location(i), crc, view.changed(ranges, version));
        } else {
            release(block);
            homeless.add(new NewBlock(block, image, crc, view.changed(ranges, version)));
        }
    }

    /** A block that is all of a large write stays where that put it. */
    private boolean adopt(int block, Range range) {
        LoggedOp source = range.source();
        int start = block * BLOCK;
        if (!source.isDirect() || range.start() > start || range.end() < start + BLOCK) {
            return false;
        }
        release(block);
        long location = source.record().extentBlock(block);
        int crc = source.op().blockCrcs()[block - source.op().offset() / BLOCK];
        group(block)
                .set(
                        block % ChunkKeys.GROUP_BLOCKS,
                        location,
                        crc,
                        view.changed(List.of(range), version));
        kept.add(location);
        return true;
    }

    /** Whether one operation has all bytes of the block. */
    private static boolean hasWholeImage(int block, List<Range> ranges) {
        int start = block * BLOCK;
        for (Range r : ranges) {
            DataOp op = r.source().op();
            if (op.offset() <= start && op.offset() + op.length() >= start + BLOCK) {
                return true;
            }
        }
        return false;
    }

    /** Whether a byte of the stored block is neither overwritten nor cut off. */
    private boolean showsBase(int block, List<Range> ranges) {
        int at = block * BLOCK;
        int end = Math.min(at + BLOCK, visible);
        for (Range r : ranges) {
            if (r.start() > at) {
                break;
            }
            at = Math.max(at, r.end());
        }
        return at < end;
    }

    private boolean readBase(int block, ByteBuffer image) {
        int i = block % ChunkKeys.GROUP_BLOCKS;
        BlockGroup g = group(block);
        if (!g.stored(i)) {
            return false;
        }
        String why = "does not match its checksum";
        boolean intact = false;
        try {
            data.read(g.location(i), image.duplicate());
            intact = Crc.of(image, 0, BLOCK) == g.crc(i);
        } catch (IOException e) {
            why = "cannot be read: " + e.getMessage();
        }
        if (!intact) {
            LOG.error(
                    "{}: block {} (disk block {}) {}; what was written to it waits in the"
                            + " write-ahead log until it is repaired",
                    name,
                    block,
                    g.location(i),
                    why);
            return false;
        }
        for (int p = Math.max(0, visible - block * BLOCK); p < BLOCK; p++) {
            image.put(p, (byte) 0);
        }
        return true;
    }

    /** The payload of a large write is as good or bad as any block of the data file. */
    private boolean readRange(Range r, int from, int to, ByteBuffer image, int at)
            throws IOException {
        String why = "do not match their checksum";
        try {
            int bad = payloads.read(r.source().record(), from, to, image, at);
            if (bad == PayloadReader.INTACT) {
                return true;
            }
        } catch (IOException e) {
            if (!r.source().isDirect()) {
                throw e;
            }
            why = "cannot be read: " + e.getMessage();
        }
        LOG.error(
                "{}: bytes {} to {} of the operation with LSN {} {}; it waits in the write-ahead"
                        + " log until the block is repaired",
                name,
                from,
                to,
                r.source().record().lsn(),
                why);
        return false;
    }

    /** Gives the new blocks their places, together where there is room. */
    private void settle() {
        int next = 0;
        while (next < homeless.size()) {
            BlockRun run = allocator.allocate(homeless.size() - next);
            if (run == null) {
                throw new IllegalStateException(
                        name + ": no block is free, though admission promised one");
            }
            for (int k = 0; k < run.count(); k++) {
                NewBlock n = homeless.get(next++);
                staged.stage(run.first() + k, n.image());
                group(n.block())
                        .set(
                                n.block() % ChunkKeys.GROUP_BLOCKS,
                                run.first() + k,
                                n.crc(),
                                n.changed());
            }
        }
    }

    private void release(int block) {
        int i = block % ChunkKeys.GROUP_BLOCKS;
        BlockGroup g = group(block);
        changed.add(block / ChunkKeys.GROUP_BLOCKS);
        if (g.stored(i)) {
            released.add(g.location(i));
        }
    }

    /** To be changed; what is stored stays as it is. */
    private BlockGroup group(int block) {
        return groups.computeIfAbsent(block / ChunkKeys.GROUP_BLOCKS, k -> stored.group(k).copy());
    }
}
