package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The blocks of a large write, which lie in the data file; its first byte may be in the middle of
 * the first one. Any thread.
 */
final class ExtentPayload implements PayloadSource {
    private final DataFile data;
    private final List<BlockRun> extents;

    ExtentPayload(DataFile data, List<BlockRun> extents) {
        this.data = data;
        this.extents = extents;
    }

    /** The offset counts from the begin of the first block. */
    @Override
    public void read(int offset, ByteBuffer target) throws IOException {
        int end = target.limit();
        int runStart = 0;
        int at = offset;
        for (BlockRun run : extents) {
            int runEnd = runStart + run.count() * DataFile.BLOCK_BYTES;
            if (at < runEnd && target.hasRemaining()) {
                int n = Math.min(target.remaining(), runEnd - at);
                target.limit(target.position() + n);
                data.readBytes(run.first() * DataFile.BLOCK_BYTES + at - runStart, target);
                target.limit(end);
                at += n;
            }
            runStart = runEnd;
        }
        if (target.hasRemaining()) {
            throw new EOFException("the extents end at " + runStart);
        }
    }
}
