package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.store.ChunkCopy.Run;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.LearnerStore.Rest;
import io.cairn.dataserver.store.PgContent.Blocks;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads pieces of chunks for replicas that lack them, every block verified. Any thread. */
final class CopyReader {
    private static final int BLOCK = BlockCrc.BLOCK_BYTES;
    private static final int ATTEMPTS = 8;

    private final ChunkReader reader;

    CopyReader(ChunkReader reader) {
        this.reader = reader;
    }

    /**
     * See {@link LearnerStore#readCopy}.
     *
     * @throws CorruptBlockException also if the chunk changes all the time
     */
    ChunkCopy read(PgStore store, Key key, Rest rest, int maxBytes) throws CorruptBlockException {
        try {
            for (int i = 0; i < ATTEMPTS; i++) {
                PgContent content = store.content();
                ContentHead head = content.head(key);
                Blocks blocks = content.blocks(key, rest.since());
                BitSet wanted = wanted(blocks, rest.lengthThere());
                List<Run> runs = runs(wanted, head.lengthBytes(), rest.offset(), maxBytes);
                int end = runs.isEmpty() ? rest.offset() : runs.getLast().end();
                boolean last = runs(wanted, head.lengthBytes(), end, BLOCK).isEmpty();
                ChunkCopy piece = read(store, head, runs, rest.isFirst(), last);
                if (piece != null && head.equals(content.head(key))) {
                    return piece;
                }
                if (piece != null) {
                    piece.content().release();
                }
            }
        } catch (IndexDamagedException e) {
            throw new CorruptBlockException(String.valueOf(e.getMessage()));
        }
        throw new CorruptBlockException(
                "PG %d, inode %d, chunk %d: being written"
                        .formatted(store.pg(), key.inode(), key.chunk()));
    }

    /**
     * What has changed, and zeros where there is nothing and the receiver may have something. That
     * lies behind all that has not changed: who cut it off cut off everything up to the chunk's
     * end.
     */
    private static BitSet wanted(Blocks blocks, int lengthThere) {
        BitSet unchanged = (BitSet) blocks.there().clone();
        unchanged.andNot(blocks.changed());
        BitSet wanted = (BitSet) blocks.changed().clone();
        int end = (lengthThere + BLOCK - 1) / BLOCK;
        for (int b = blocks.there().nextClearBit(unchanged.length()); b < end; ) {
            wanted.set(b);
            b = blocks.there().nextClearBit(b + 1);
        }
        return wanted;
    }

    /** These blocks, from the position on. */
    private static List<Run> runs(BitSet blocks, int length, int from, int maxBytes) {
        List<Run> runs = new ArrayList<>();
        int left = maxBytes / BLOCK;
        int first = blocks.nextSetBit((from + BLOCK - 1) / BLOCK);
        while (first >= 0 && left > 0 && first * BLOCK < length) {
            int end = Math.min(blocks.nextClearBit(first), first + left);
            runs.add(new Run(first * BLOCK, Math.min(end * BLOCK, length) - first * BLOCK));
            left -= end - first;
            first = blocks.nextSetBit(end);
        }
        return runs;
    }

    /** Null if the chunk is no longer what its head says. */
    private @Nullable ChunkCopy read(
            PgStore store, ContentHead head, List<Run> runs, boolean first, boolean last)
            throws CorruptBlockException {
        int bytes = runs.stream().mapToInt(Run::length).sum();
        int[] crcs = new int[runs.stream().mapToInt(Run::blocks).sum()];
        ByteBuf content = ByteBufAllocator.DEFAULT.directBuffer(bytes, bytes);
        boolean done = false;
        try {
            int block = 0;
            for (Run r : runs) {
                int count = read(store, head.key(), r, content, crcs, block);
                if (count != r.blocks()) {
                    return null;
                }
                block += count;
            }
            ChunkCopy piece =
                    new ChunkCopy(
                            head.key().inode(),
                            head.key().chunk(),
                            first,
                            last,
                            head.version(),
                            head.truncateSequence(),
                            head.lengthBytes(),
                            runs,
                            crcs,
                            content);
            done = true;
            return piece;
        } finally {
            if (!done) {
                content.release();
            }
        }
    }

    /** The number of checksums, one for each block; fewer if the chunk was cut meanwhile. */
    private int read(PgStore store, Key key, Run r, ByteBuf content, int[] crcs, int block)
            throws CorruptBlockException {
        ChunkReader.Result result =
                reader.read(store, store.pg(), key.inode(), key.chunk(), r.offset(), r.length());
        try {
            int count = result.blockCrcs().length;
            if (result.data().readableBytes() != r.length()) {
                return 0;
            }
            content.writeBytes(result.data());
            System.arraycopy(result.blockCrcs(), 0, crcs, block, count);
            return count;
        } finally {
            result.data().release();
        }
    }
}
