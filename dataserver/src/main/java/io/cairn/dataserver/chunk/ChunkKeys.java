package io.cairn.dataserver.chunk;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The whole key space of the chunk index. All numbers are big-endian, so that keys sort by number
 * and all of one (PG, inode) lies together.
 *
 * <pre>
 * 'D'                                        state of the disk: {@link DiskStateFormat}
 * 'P' pg u32                                 history of a PG: {@link PgStateFormat}
 * 'V' pg u32                                 scrubs of a PG: {@link ScrubStampsFormat}
 * 'F' pg u32                                 what its last scrub found: {@link FindingsFormat}
 * 'Q' pg u32 inode u64 chunk u32 block u32   block in quarantine: {@link QuarantineFormat}
 * 'C' pg u32 inode u64 0x00                  inode head: {@link InodeHeadFormat}
 * 'C' pg u32 inode u64 0x01 chunk u32        chunk head: {@link ChunkHeadFormat}
 * 'C' pg u32 inode u64 0x01 chunk u32 group u32
 *                                            64 blocks of the chunk: {@link BlockGroupFormat}
 * 'S'                                        summary of the content: {@link SummaryFormat}
 * 'S' 0x00 region u32                        blocks of the region in use: {@link BitPageFormat}
 * 'S' 0x01 page u32                          which inodes may have been truncated: likewise
 * </pre>
 */
public final class ChunkKeys {
    /** Blocks of 4 KiB one block group describes. */
    public static final int GROUP_BLOCKS = 64;

    private static final byte DISK = 'D';
    private static final byte HISTORY = 'P';
    private static final byte SCRUBS = 'V';
    private static final byte FINDINGS = 'F';
    private static final byte QUARANTINE = 'Q';
    private static final byte CONTENT = 'C';
    private static final byte SUMMARY = 'S';
    private static final byte REGION = 0;
    private static final byte FILTER = 1;
    private static final byte INODE_HEAD = 0;
    private static final byte CHUNK = 1;

    private static final int PG_OFFSET = 1;
    private static final int INODE_OFFSET = 5;
    private static final int KIND_OFFSET = 13;
    private static final int CHUNK_OFFSET = 14;
    private static final int GROUP_OFFSET = 18;

    private static final int BAD_CHUNK_OFFSET = 13;
    private static final int BAD_BLOCK_OFFSET = 17;

    private static final int PAGE_OFFSET = 2;

    private static final int PG_STATE_BYTES = 5;
    private static final int PAGE_BYTES = 6;
    private static final int INODE_HEAD_BYTES = CHUNK_OFFSET;
    private static final int CHUNK_HEAD_BYTES = GROUP_OFFSET;
    private static final int GROUP_BYTES = 22;
    private static final int BAD_BLOCK_BYTES = 21;

    private ChunkKeys() {}

    static byte[] diskState() {
        return new byte[] {DISK};
    }

    /** What the keys of all histories begin with. */
    static byte[] pgStates() {
        return new byte[] {HISTORY};
    }

    static byte[] pgState(int pg) {
        return ByteBuffer.allocate(PG_STATE_BYTES).put(HISTORY).putInt(PG_OFFSET, pg).array();
    }

    /** The row of the summary; all of its keys begin so. */
    static byte[] summary() {
        return new byte[] {SUMMARY};
    }

    /** Behind all keys of the summary. */
    static byte[] behindSummary() {
        return new byte[] {SUMMARY + 1};
    }

    /** What the keys of all regions begin with. */
    static byte[] regions() {
        return new byte[] {SUMMARY, REGION};
    }

    static byte[] region(int region) {
        return page(regions(), region);
    }

    /** What the keys of all pages of the filter begin with. */
    static byte[] filterPages() {
        return new byte[] {SUMMARY, FILTER};
    }

    static byte[] filterPage(int page) {
        return page(filterPages(), page);
    }

    private static byte[] page(byte[] kind, int page) {
        return ByteBuffer.allocate(PAGE_BYTES).put(kind).putInt(page).array();
    }

    /** Whether it is the key of a region or a page of the filter. */
    static boolean isPage(byte[] key) {
        return key.length == PAGE_BYTES && key[0] == SUMMARY;
    }

    /** Of a region or a page of the filter. */
    static int pageOf(byte[] key) {
        return ByteBuffer.wrap(key).getInt(PAGE_OFFSET);
    }

    static byte[] scrubs(int pg) {
        return ByteBuffer.allocate(PG_STATE_BYTES).put(SCRUBS).putInt(PG_OFFSET, pg).array();
    }

    static byte[] findings(int pg) {
        return ByteBuffer.allocate(PG_STATE_BYTES).put(FINDINGS).putInt(PG_OFFSET, pg).array();
    }

    /** What the keys of all blocks in quarantine begin with. */
    static byte[] quarantine() {
        return new byte[] {QUARANTINE};
    }

    static byte[] quarantined(BadBlock block) {
        return ByteBuffer.allocate(BAD_BLOCK_BYTES)
                .put(0, QUARANTINE)
                .putInt(PG_OFFSET, block.pg())
                .putLong(INODE_OFFSET, block.inode())
                .putInt(BAD_CHUNK_OFFSET, block.chunk())
                .putInt(BAD_BLOCK_OFFSET, block.block())
                .array();
    }

    /** Throws IndexDamagedException if it is not the key of a block in quarantine. */
    static BadBlock badBlock(byte[] key) {
        if (key.length != BAD_BLOCK_BYTES || key[0] != QUARANTINE) {
            throw new IndexDamagedException("key of " + key.length + " bytes");
        }
        ByteBuffer b = ByteBuffer.wrap(key);
        return new BadBlock(
                b.getInt(PG_OFFSET),
                b.getLong(INODE_OFFSET),
                b.getInt(BAD_CHUNK_OFFSET),
                b.getInt(BAD_BLOCK_OFFSET));
    }

    /** What the keys of all inode heads, chunk heads and block groups begin with. */
    static byte[] content() {
        return new byte[] {CONTENT};
    }

    /** What the keys of all content of a PG begin with. */
    static byte[] pg(int pg) {
        return ByteBuffer.allocate(INODE_OFFSET).put(0, CONTENT).putInt(PG_OFFSET, pg).array();
    }

    /** Behind all groups of the chunk: their numbers are not negative. */
    static byte[] behindGroups(byte[] chunkHead) {
        return ByteBuffer.allocate(GROUP_BYTES).put(chunkHead).putInt(-1).array();
    }

    /** The head of the chunk that a group belongs to. */
    static byte[] chunkHeadOf(byte[] group) {
        return Arrays.copyOf(group, CHUNK_HEAD_BYTES);
    }

    /** The key of the same content in another PG. */
    static byte[] of(int pg, byte[] content) {
        byte[] key = content.clone();
        ByteBuffer.wrap(key).putInt(PG_OFFSET, pg);
        return key;
    }

    static byte[] inodeHead(int pg, long inode) {
        return inode(pg, inode, INODE_HEAD_BYTES).put(KIND_OFFSET, INODE_HEAD).array();
    }

    static byte[] chunkHead(int pg, long inode, int chunk) {
        return chunk(pg, inode, chunk, CHUNK_HEAD_BYTES).array();
    }

    static byte[] group(int pg, long inode, int chunk, int group) {
        return chunk(pg, inode, chunk, GROUP_BYTES).putInt(GROUP_OFFSET, group).array();
    }

    /** What all keys of an inode in a PG begin with. */
    static byte[] inode(int pg, long inode) {
        return inode(pg, inode, KIND_OFFSET).array();
    }

    static boolean isChunkHead(byte[] key) {
        return key.length == CHUNK_HEAD_BYTES && key[0] == CONTENT;
    }

    static boolean isGroup(byte[] key) {
        return key.length == GROUP_BYTES && key[0] == CONTENT;
    }

    static boolean isInodeHead(byte[] key) {
        return key.length == INODE_HEAD_BYTES && key[0] == CONTENT;
    }

    static int pgOf(byte[] key) {
        return ByteBuffer.wrap(key).getInt(PG_OFFSET);
    }

    static long inodeOf(byte[] key) {
        return ByteBuffer.wrap(key).getLong(INODE_OFFSET);
    }

    static int chunkOf(byte[] key) {
        return ByteBuffer.wrap(key).getInt(CHUNK_OFFSET);
    }

    static int groupOf(byte[] key) {
        return ByteBuffer.wrap(key).getInt(GROUP_OFFSET);
    }

    private static ByteBuffer inode(int pg, long inode, int bytes) {
        return ByteBuffer.allocate(bytes)
                .put(0, CONTENT)
                .putInt(PG_OFFSET, pg)
                .putLong(INODE_OFFSET, inode);
    }

    private static ByteBuffer chunk(int pg, long inode, int chunk, int bytes) {
        return inode(pg, inode, bytes).put(KIND_OFFSET, CHUNK).putInt(CHUNK_OFFSET, chunk);
    }
}
