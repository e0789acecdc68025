package io.cairn.dataserver.chunk;

import io.cairn.common.map.Uuids;
import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * Layout of the disk's state in the index, little-endian.
 *
 * <pre>
 *  0 u32  version, 2
 *  4 u32  number of files of the write-ahead log; 0: not recorded
 *  8 u128 disk uuid (most significant half first)
 * 24 u64  trim LSN: every operation up to here is in the index
 * 32 u32  CRC32C of bytes 0..31
 * </pre>
 *
 * Version 1 has the same layout: an index of a release that does not know the summary of the
 * content. Such a release refuses version 2, and so cannot leave a summary behind that is stale.
 */
public final class DiskStateFormat {
    static final int BYTES = 32;
    static final int VERSION = 2;

    private static final int VERSION_WITHOUT_SUMMARY = 1;

    private static final int VERSION_OFFSET = 0;
    private static final int WAL_SEGMENTS_OFFSET = 4;
    private static final int DISK_OFFSET = 8;
    private static final int TRIM_LSN_OFFSET = 24;

    private DiskStateFormat() {}

    /** The decoded value. */
    public record DiskState(UUID disk, long trimLsn, int walSegments) {}

    static byte[] encode(DiskState s) {
        ByteBuffer b =
                IndexValue.allocate(BYTES)
                        .putInt(VERSION_OFFSET, VERSION)
                        .putInt(WAL_SEGMENTS_OFFSET, s.walSegments())
                        .putLong(TRIM_LSN_OFFSET, s.trimLsn());
        Uuids.put(b, DISK_OFFSET, s.disk());
        return IndexValue.seal(b);
    }

    static DiskState decode(byte[] value) {
        ByteBuffer b = IndexValue.open(value, BYTES, "disk state");
        int version = b.getInt(VERSION_OFFSET);
        if (version != VERSION && version != VERSION_WITHOUT_SUMMARY) {
            throw new IndexDamagedException("disk state has version " + version);
        }
        return new DiskState(
                Uuids.get(b, DISK_OFFSET),
                b.getLong(TRIM_LSN_OFFSET),
                b.getInt(WAL_SEGMENTS_OFFSET));
    }
}
