package io.cairn.dataserver.disk;

import io.cairn.common.map.Uuids;
import io.cairn.dataserver.disk.Superblock.State;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * Layout of the superblock, one 4 KiB block, little-endian.
 *
 * <pre>
 *  0  u64  magic "CAIRNDSK"
 *  8  u32  version, 1
 * 12  u32  state: 0 formatting, 1 ready
 * 16  u128 disk uuid (most significant half first)
 * 32  u128 cluster id
 * 48  u64  capacity in bytes
 * 56  u32  0
 * 60  u32  CRC32C of bytes 0..59
 * 64       zeros to 4096
 * </pre>
 */
public final class SuperblockFormat {
    public static final int BYTES = 4096;

    static final long MAGIC = 0x4b53444e52494143L;
    static final int VERSION = 1;

    private static final int MAGIC_OFFSET = 0;
    private static final int VERSION_OFFSET = 8;
    private static final int STATE_OFFSET = 12;
    private static final int DISK_OFFSET = 16;
    private static final int CLUSTER_OFFSET = 32;
    private static final int CAPACITY_OFFSET = 48;
    private static final int CRC_OFFSET = 60;

    private SuperblockFormat() {}

    /** A block ready to be written. */
    public static ByteBuffer encode(Superblock superblock) {
        ByteBuffer b = ByteBuffer.allocateDirect(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        b.putLong(MAGIC_OFFSET, MAGIC);
        b.putInt(VERSION_OFFSET, VERSION);
        b.putInt(STATE_OFFSET, superblock.state().ordinal());
        Uuids.put(b, DISK_OFFSET, superblock.disk());
        Uuids.put(b, CLUSTER_OFFSET, superblock.cluster());
        b.putLong(CAPACITY_OFFSET, superblock.capacityBytes());
        b.putInt(CRC_OFFSET, crc(b));
        return b;
    }

    /** Whether the block was never written by us: it does not begin with the magic. */
    public static boolean isBlank(ByteBuffer block) {
        return block.order(ByteOrder.LITTLE_ENDIAN).getLong(MAGIC_OFFSET) != MAGIC;
    }

    /** Throws DiskOpenException saying what is wrong with the block. */
    public static Superblock decode(ByteBuffer block, String where) throws DiskOpenException {
        ByteBuffer b = block.order(ByteOrder.LITTLE_ENDIAN);
        if (b.limit() < CRC_OFFSET + Integer.BYTES || isBlank(b)) {
            throw new DiskOpenException(where + " is not a superblock of Cairn");
        }
        if (b.getInt(CRC_OFFSET) != crc(b)) {
            throw new DiskOpenException(where + ": the superblock's checksum is wrong");
        }
        if (b.getInt(VERSION_OFFSET) != VERSION) {
            throw new DiskOpenException(
                    where
                            + " has format version "
                            + b.getInt(VERSION_OFFSET)
                            + "; this program reads version "
                            + VERSION);
        }
        return new Superblock(
                b.getInt(STATE_OFFSET) == 1 ? State.READY : State.FORMATTING,
                Uuids.get(b, DISK_OFFSET),
                Uuids.get(b, CLUSTER_OFFSET),
                b.getLong(CAPACITY_OFFSET));
    }

    private static int crc(ByteBuffer b) {
        CRC32C crc = new CRC32C();
        crc.update(b.slice(0, CRC_OFFSET));
        return (int) crc.getValue();
    }
}
