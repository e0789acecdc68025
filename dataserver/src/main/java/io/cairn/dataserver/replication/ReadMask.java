package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;

/**
 * What a read may show of a chunk whose truncations are not all applied yet. A truncation newer
 * than the chunk's own leaves nothing at or beyond its length, so those bytes of the result read as
 * zeros. Stateless.
 */
public final class ReadMask {
    private ReadMask() {}

    /**
     * How many of the bytes read are to be shown.
     *
     * @param read the read, with its cuts
     * @param chunkTruncateSequence newest truncation the chunk has applied
     * @param returnedBytes bytes the store returned from the read's offset on
     */
    public static int visibleBytes(DataOp read, long chunkTruncateSequence, int returnedBytes) {
        int end = returnedBytes;
        for (DataOp.Cut cut : read.cuts()) {
            if (cut.sequence() > chunkTruncateSequence) {
                end = Math.clamp((long) cut.lengthBytes() - read.offset(), 0, end);
            }
        }
        return end;
    }
}
