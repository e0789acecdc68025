package io.cairn.dataserver.store;

import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.chunk.ChunkOverlay;
import io.cairn.dataserver.chunk.ChunkOverlay.Range;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.wal.Crc;
import io.cairn.dataserver.wal.PayloadReader;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Reads chunks: stored blocks with what the WAL lays over them, every piece verified. Any thread.
 *
 * <p>A read shows the chunk as of one moment, whole operations only, and takes no lock for it. The
 * overlay is looked at before the index, and whoever moves data removes it from the overlay last,
 * so nothing is missed; should the index show something newer than the look at the overlay, both
 * are looked at again. The flusher may overwrite a block, or a segment may be recycled, before the
 * bytes are read: then their checksum is wrong, and the read starts over.
 */
final class ChunkReader {
    private static final int BLOCK = DataFile.BLOCK_BYTES;
    private static final int ATTEMPTS = 8;

    private final Lookup index;
    private final DataFile data;
    private final ThreadLocal<PayloadReader> payloads = ThreadLocal.withInitial(PayloadReader::new);

    /** {@link ChunkIndex#read}. */
    @FunctionalInterface
    interface Lookup {
        Stored read(int pg, long inode, int chunk, int firstBlock, int lastBlock);
    }

    ChunkReader(Lookup index, DataFile data) {
        this.index = index;
        this.data = data;
    }

    /** What was read; the receiver releases the data. */
    record Result(ByteBuf data, int[] blockCrcs) {}

    /** A checksum was wrong: what was looked up is outdated, or a block is bad. */
    private static final class Mismatch extends Exception {
        private static final long serialVersionUID = 1;

        private final int block;
        private final boolean unreadable;

        Mismatch(String where, int block) {
            this(where, block, false);
        }

        Mismatch(String where, int block, boolean unreadable) {
            super(where, null, false, false);
            this.block = block;
            this.unreadable = unreadable;
        }
    }

    Result read(PgStore store, int pg, long inode, int chunk, int offset, int length)
            throws CorruptBlockException {
        String where = String.format("PG %d, inode %d, chunk %d: ", pg, inode, chunk);
        Mismatch last = null;
        for (int i = 0; i < ATTEMPTS; i++) {
            try {
                return attempt(store, pg, inode, chunk, offset, length);
            } catch (Mismatch e) {
                last = e;
                if (e.unreadable && i > 0) {
                    break; // each try may take the device seconds
                }
            } catch (IOException | IndexDamagedException e) {
                throw new CorruptBlockException(where + e.getMessage());
            }
        }
        throw last == null
                ? new CorruptBlockException(where)
                : new CorruptBlockException(where + last.getMessage(), last.block);
    }

    /**
     * One block with the version it is of.
     *
     * @throws CorruptBlockException also if the chunk changes all the time
     */
    DiskStore.VersionedBlock readBlock(PgStore store, int pg, long inode, int chunk, int block)
            throws CorruptBlockException {
        try {
            for (int i = 0; i < ATTEMPTS; i++) {
                ChunkVersion before = store.version(inode, chunk);
                Result result = read(store, pg, inode, chunk, block * BLOCK, BLOCK);
                if (before.equals(store.version(inode, chunk))) {
                    return new DiskStore.VersionedBlock(before, result.data());
                }
                result.data().release();
            }
        } catch (IndexDamagedException e) {
            throw new CorruptBlockException(String.valueOf(e.getMessage()));
        }
        throw new CorruptBlockException(
                String.format("PG %d, inode %d, chunk %d: being written", pg, inode, chunk));
    }

    private Result attempt(PgStore store, int pg, long inode, int chunk, int offset, int length)
            throws Mismatch, IOException {
        int from = offset & -BLOCK;
        int to = (offset + length + BLOCK - 1) & -BLOCK;
        PgStore.Look look;
        Stored stored;
        do { // again only after a round of the flusher that began after the look
            look = store.look(inode, chunk, from, to);
            stored = index.read(pg, inode, chunk, from / BLOCK, (to - 1) / BLOCK);
        } while (!store.fitsIndex(look));
        ChunkOverlay.View view = look.view();
        int n = Math.min(length, view.length(stored.length()) - offset);
        if (n <= 0) {
            return new Result(Unpooled.EMPTY_BUFFER, new int[0]);
        }
        int end = (offset + n + BLOCK - 1) & -BLOCK;
        ByteBuf buffer = ByteBufAllocator.DEFAULT.directBuffer(end - from, end - from);
        boolean done = false;
        try {
            Assembly a =
                    new Assembly(
                            view,
                            stored,
                            from,
                            offset,
                            offset + n,
                            buffer.nioBuffer(0, end - from));
            a.readBase();
            a.readRanges();
            buffer.setIndex(offset - from, offset - from + n);
            Result result = new Result(buffer, a.crcs());
            done = true;
            return result;
        } finally {
            if (!done) {
                buffer.release();
            }
        }
    }

    /** One attempt's buffer, which begins at the block boundary {@code from}. */
    private final class Assembly {
        private final ChunkOverlay.View view;
        private final Stored stored;
        private final int from;
        private final int begin;
        private final int end;
        private final ByteBuffer bytes;
        private final int firstBlock;
        private final int blocks;
        private final boolean[] pure;

        Assembly(
                ChunkOverlay.View view,
                Stored stored,
                int from,
                int begin,
                int end,
                ByteBuffer bytes) {
            this.view = view;
            this.stored = stored;
            this.from = from;
            this.begin = begin;
            this.end = end;
            this.bytes = bytes;
            this.firstBlock = from / BLOCK;
            this.blocks = bytes.capacity() / BLOCK;
            this.pure = new boolean[blocks];
        }

        void readBase() throws Mismatch, IOException {
            int i = 0;
            while (i < blocks) {
                long location = needed(i) ? location(i) : BlockGroup.ABSENT;
                if (location == BlockGroup.DAMAGED) {
                    throw new Mismatch("block " + (firstBlock + i) + " is damaged", firstBlock + i);
                }
                if (location == BlockGroup.ABSENT) {
                    zero(i * BLOCK, (i + 1) * BLOCK);
                    i++;
                    continue;
                }
                int run = 1;
                while (i + run < blocks && needed(i + run) && location(i + run) == location + run) {
                    run++;
                }
                readRun(i, run, location);
                for (int k = i; k < i + run; k++) {
                    verify(k);
                }
                i += run;
            }
        }

        /** What cannot be read is told by its block: the others of the run may be good. */
        private void readRun(int first, int count, long location) throws Mismatch {
            try {
                data.read(location, bytes.slice(first * BLOCK, count * BLOCK));
            } catch (IOException whole) {
                for (int k = 0; k < count; k++) {
                    try {
                        data.read(location + k, bytes.slice((first + k) * BLOCK, BLOCK));
                    } catch (IOException e) {
                        throw new Mismatch(
                                "block %d, disk block %d cannot be read: %s"
                                        .formatted(
                                                firstBlock + first + k,
                                                location + k,
                                                e.getMessage()),
                                firstBlock + first + k,
                                true);
                    }
                }
            }
        }

        private void verify(int i) throws Mismatch {
            int crc = group(i).crc(inGroup(i));
            if (Crc.of(bytes, i * BLOCK, BLOCK) != crc) {
                throw new Mismatch(
                        "block "
                                + (firstBlock + i)
                                + ", disk block "
                                + location(i)
                                + " does not match its checksum",
                        firstBlock + i);
            }
            int visible = view.visibleBase(stored.length()) - from;
            if (visible < (i + 1) * BLOCK) {
                zero(Math.max(visible, i * BLOCK), (i + 1) * BLOCK);
            } else {
                pure[i] = true;
            }
        }

        void readRanges() throws Mismatch, IOException {
            for (Range r : view.ranges()) {
                int start = Math.max(r.start(), begin);
                int stop = Math.min(r.end(), end);
                if (start >= stop) {
                    continue;
                }
                readRange(r, start, stop);
                for (int i = (start - from) / BLOCK; i <= (stop - 1 - from) / BLOCK; i++) {
                    pure[i] = false;
                }
            }
        }

        private void readRange(Range r, int start, int stop) throws Mismatch, IOException {
            PayloadReader reader = payloads.get();
            WalRecord record = r.source().record();
            try {
                check(record, reader.read(record, start, stop, bytes, start - from));
                return;
            } catch (IOException whole) {
                if (!r.source().isDirect()) {
                    throw whole; // the log's failure, not the block's
                }
            }
            for (int at = start; at < stop; at = (at + BLOCK) & -BLOCK) {
                int end = Math.min(stop, (at + BLOCK) & -BLOCK);
                try {
                    check(record, reader.read(record, at, end, bytes, at - from));
                } catch (IOException e) {
                    throw new Mismatch(
                            "LSN %d, block %d cannot be read: %s"
                                    .formatted(record.lsn(), at / BLOCK, e.getMessage()),
                            at / BLOCK,
                            true);
                }
            }
        }

        private static void check(WalRecord record, int bad) throws Mismatch {
            if (bad >= 0) {
                throw new Mismatch(
                        "LSN " + record.lsn() + " does not match its checksums", bad / BLOCK);
            }
        }

        /** One for each block of which anything is returned; a stored one as it is. */
        int[] crcs() {
            int[] crcs = new int[blocks];
            for (int i = 0; i < blocks; i++) {
                int start = Math.max(begin - from, i * BLOCK);
                int stop = Math.min(end - from, (i + 1) * BLOCK);
                crcs[i] =
                        pure[i] && stop - start == BLOCK
                                ? group(i).crc(inGroup(i))
                                : Crc.of(bytes, start, stop - start);
            }
            return crcs;
        }

        /** Whether some byte asked for comes from the stored block. */
        private boolean needed(int i) {
            int at = Math.max(begin, from + i * BLOCK);
            int stop =
                    Math.min(
                            Math.min(end, from + (i + 1) * BLOCK),
                            view.visibleBase(stored.length()));
            for (Range r : view.ranges()) {
                if (r.start() > at) {
                    break;
                }
                at = Math.max(at, r.end());
            }
            return at < stop;
        }

        private BlockGroup group(int i) {
            return stored.group((firstBlock + i) / ChunkKeys.GROUP_BLOCKS);
        }

        private int inGroup(int i) {
            return (firstBlock + i) % ChunkKeys.GROUP_BLOCKS;
        }

        private long location(int i) {
            return group(i).location(inGroup(i));
        }

        private void zero(int start, int stop) {
            for (int p = start; p < stop; p++) {
                bytes.put(p, (byte) 0);
            }
        }
    }
}
