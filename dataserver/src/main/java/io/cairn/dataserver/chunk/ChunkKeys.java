package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;

/**
 * The whole key space of the chunk index. All numbers are big-endian, so that keys sort by number
 * and all of one (PG, inode) lies together.
 *
 * <pre>
 * 'D'                                        state of the disk: {@link DiskStateFormat}
 * 'P' pg u32                                 history of a PG: {@link PgStateFormat}
 * 'C' pg u32 inode u64 0x00                  inode head: {@link InodeHeadFormat}
 * 'C' pg u32 inode u64 0x01 chunk u32        chunk head: {@link ChunkHeadFormat}
 * 'C' pg u32 inode u64 0x01 chunk u32 group u32
 *                                            64 blocks of the chunk: {@link BlockGroupFormat}
 * </pre>
 */
public final class ChunkKeys {
    /** Blocks of 4 KiB one block group describes. */
    public static final int GROUP_BLOCKS = 64;

    static final int CHUNK_HEAD_BYTES = 18;
    static final int GROUP_BYTES = 22;
    private static final int INODE_BYTES = 13;
    private static final byte INODE_HEAD = 0;
    private static final byte CHUNK = 1;

    private ChunkKeys() {}

    static byte[] diskState() {
        return new byte[] {'D'};
    }

    static byte[] pgState(int pg) {
        return ByteBuffer.allocate(5).put((byte) 'P').putInt(pg).array();
    }

    static byte[] inodeHead(int pg, long inode) {
        return inode(pg, inode, 1).put(INODE_HEAD).array();
    }

    static byte[] chunkHead(int pg, long inode, int chunk) {
        return inode(pg, inode, 5).put(CHUNK).putInt(chunk).array();
    }

    static byte[] group(int pg, long inode, int chunk, int group) {
        return inode(pg, inode, 9).put(CHUNK).putInt(chunk).putInt(group).array();
    }

    /** What all keys of an inode in a PG begin with. */
    static byte[] inode(int pg, long inode) {
        return inode(pg, inode, 0).array();
    }

    static boolean isChunkHead(byte[] key) {
        return key.length == CHUNK_HEAD_BYTES && key[0] == 'C';
    }

    static boolean isGroup(byte[] key) {
        return key.length == GROUP_BYTES && key[0] == 'C';
    }

    static boolean isInodeHead(byte[] key) {
        return key.length == INODE_BYTES + 1 && key[0] == 'C';
    }

    static int pgOf(byte[] key) {
        return ByteBuffer.wrap(key).getInt(1);
    }

    static long inodeOf(byte[] key) {
        return ByteBuffer.wrap(key).getLong(5);
    }

    static int chunkOf(byte[] key) {
        return ByteBuffer.wrap(key).getInt(INODE_BYTES + 1);
    }

    static int groupOf(byte[] key) {
        return ByteBuffer.wrap(key).getInt(CHUNK_HEAD_BYTES);
    }

    private static ByteBuffer inode(int pg, long inode, int more) {
        return ByteBuffer.allocate(INODE_BYTES + more).put((byte) 'C').putInt(pg).putLong(inode);
    }
}
