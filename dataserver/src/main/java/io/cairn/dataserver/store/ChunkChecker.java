package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.store.ContentHead.Key;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads whole chunks past the page cache, every block verified: see {@link ScrubStore#check}. The
 * checksums of a read are those of what a client would see, so that equal chunks have equal digests
 * however their blocks are stored. Any thread, one after the other.
 */
final class ChunkChecker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ChunkChecker.class);

    private static final int PIECE_BYTES = 1 << 20;

    private final DeviceFiles files;
    private final Path path;
    private final long capacityBytes;
    private final ChunkReader.Lookup index;

    // guarded by this
    private @Nullable DataFile medium;
    private @Nullable ChunkReader reader;
    private boolean closed;

    /**
     * @param path of the data file
     */
    ChunkChecker(DeviceFiles files, Path path, long capacityBytes, ChunkReader.Lookup index) {
        this.files = files;
        this.path = path;
        this.capacityBytes = capacityBytes;
        this.index = index;
    }

    /**
     * @param damaged told of each bad block
     */
    ChunkCheck check(PgStore store, Key key, ScrubStore.Pace pace, DiskStore.DamageListener damaged)
            throws CorruptBlockException, InterruptedException {
        ContentHead head = store.content().head(key);
        Digest digest = new Digest();
        List<Integer> bad = new ArrayList<>();
        int at = 0;
        while (at < head.lengthBytes()) {
            int length = Math.min(PIECE_BYTES, head.lengthBytes() - at);
            pace.before(length);
            try {
                digest.add(crcs(store, key, at, length));
                at += length;
            } catch (CorruptBlockException e) {
                if (e.block() == CorruptBlockException.UNKNOWN) {
                    throw e;
                }
                LOG.error("{}: {}", path, e.getMessage());
                bad.add(e.block());
                at = (e.block() + 1) * BlockCrc.BLOCK_BYTES;
            }
        }
        if (!bad.isEmpty()) {
            forgetCached();
            bad.forEach(block -> damaged.damaged(store.pg(), key.inode(), key.chunk(), block));
        }
        boolean settled = head.equals(store.content().head(key));
        return new ChunkCheck(head, settled, digest.value(), bad);
    }

    private synchronized int[] crcs(PgStore store, Key key, int offset, int length)
            throws CorruptBlockException {
        ChunkReader.Result result =
                reader().read(store, store.pg(), key.inode(), key.chunk(), offset, length);
        result.data().release();
        return result.blockCrcs();
    }

    private ChunkReader reader() throws CorruptBlockException {
        ChunkReader opened = reader;
        if (opened == null) {
            opened = new ChunkReader(index, open());
            reader = opened;
        }
        return opened;
    }

    private DataFile open() throws CorruptBlockException {
        if (closed) {
            throw new CorruptBlockException("the disk is closed");
        }
        try {
            DataFile opened = DataFile.uncached(files, path, capacityBytes);
            medium = opened;
            return opened;
        } catch (IOException e) {
            throw new CorruptBlockException(
                    path + " cannot be opened past the page cache: " + e.getMessage());
        }
    }

    /** The repair reads through the cache, which may still have what the medium has lost. */
    private void forgetCached() {
        try {
            files.dropCache(path);
        } catch (IOException e) {
            LOG.warn("{}: what the kernel has of it in its cache may hide damage", path, e);
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        DataFile opened = medium;
        if (opened != null) {
            try {
                opened.close();
            } catch (IOException e) {
                LOG.warn("closing {}", path, e);
            }
        }
    }

    /** Of a list of checksums. */
    private static final class Digest {
        private final CRC32C crc = new CRC32C();
        private final ByteBuffer four = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);

        void add(int[] checksums) {
            for (int c : checksums) {
                crc.update(four.clear().putInt(c).flip());
            }
        }

        int value() {
            return (int) crc.getValue();
        }
    }
}
