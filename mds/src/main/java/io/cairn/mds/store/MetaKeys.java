package io.cairn.mds.store;

import com.google.protobuf.ByteString;

/**
 * The key space of the replicated state: one column family, a prefix byte, then fixed-width
 * big-endian numbers, so that byte order is numeric order and every listing is one range.
 *
 * <pre>
 * 00                              position of the last applied entry   PositionFormat
 * 01                              counters                             CountersFormat
 * 02                              cluster id                           16 raw bytes
 * 03                              what all members act by              ClusterSettings
 * 10 inode:8                      inode                                InodeFormat
 * 11 directory:8 name:1..255      entry by name                        DentryFormat, without name
 * 12 directory:8 sequence:8       entry in readdir order               DentryFormat, with name
 * 13 inode:8 name:1..255          extended attribute                   its raw value
 * 14 inode:8                      orphan: no name, still open          empty
 * 15 inode:8                      has pending truncations              empty
 * 16 inode:8                      is moved into another pool           empty
 * 17 inode:8 pool:4               left in a pool: place in the queue   sequence:8
 * 18 sequence:8                   deletion queue                       DeletionRecord
 * 19 inode:8                      place in the deletion queue          sequence:8
 * 1a pool:4 inode:8                orphaned data                        OrphanRecord
 * 1b pg:4 inode:8                  a PG has some of it                  empty
 * 1c pg:4                          last look for such data              OrphanLookRecord
 * 1d                               ids that were found, never given out first:8 last:8
 * 1e                               how many 1a-keys there are           count:8
 * 1f pool:4 inode:8                unused ids up to this one, in queue   first:8
 * 20 session:8                    session                              SessionRecord
 * 21 uuid:16                      open session of a client             session:8
 * 22 session:8 number:8           answer to a mutation                 MutationResult
 * 23 session:8 inode:8            how often a session has it open      count:4
 * 24 inode:8                       ids up to this one are a session's   first:8 session:8
 * 28 inode:8                      locks of a file; none: no row        LockTable
 * 30 id:4                         map: server                          Server
 * 31 id:4                         map: disk                            Disk
 * 32 id:4                         map: pool                            Pool
 * 33 pg:4                         map: placement group                 PlacementGroup
 * 34 session:8                    map: refused session                 since which epoch:8
 * 35 id:4                         map: MDS member                      MdsMember
 * 36                              map: session floor                   epoch:8
 * 37 id:4                         what names a pool, not the first one count:8
 * </pre>
 *
 * <p>Readdir goes over the 12-keys: a name keeps its sequence, which is its cursor, as long as it
 * exists. The 19-keys find a record again when its inode has been reaped. Numbers in values are
 * big-endian where this table gives their width.
 */
public final class MetaKeys {
    public static final byte POSITION = 0x00;
    public static final byte COUNTERS = 0x01;
    public static final byte CLUSTER_ID = 0x02;
    public static final byte SETTINGS = 0x03;
    public static final byte INODE = 0x10;
    public static final byte DENTRY = 0x11;
    public static final byte DIRECTORY_ORDER = 0x12;
    public static final byte XATTR = 0x13;
    public static final byte ORPHAN = 0x14;
    public static final byte TRUNCATING = 0x15;
    public static final byte MOVING = 0x16;
    public static final byte DELETION_LEFT = 0x17;
    public static final byte DELETION = 0x18;
    public static final byte DELETION_OF = 0x19;
    public static final byte ORPHANED = 0x1a;
    public static final byte ORPHANED_IN = 0x1b;
    public static final byte ORPHAN_LOOK = 0x1c;
    public static final byte SKIPPED_IDS = 0x1d;
    public static final byte ORPHANED_COUNT = 0x1e;
    public static final byte UNUSED_IDS = 0x1f;
    public static final byte SESSION = 0x20;
    public static final byte SESSION_OF = 0x21;
    public static final byte ANSWER = 0x22;
    public static final byte OPEN = 0x23;
    public static final byte ID_RANGE = 0x24;
    public static final byte LOCKS = 0x28;
    public static final byte MAP_SERVER = 0x30;
    public static final byte MAP_DISK = 0x31;
    public static final byte MAP_POOL = 0x32;
    public static final byte MAP_PG = 0x33;
    public static final byte MAP_REFUSED = 0x34;
    public static final byte MAP_MDS = 0x35;
    public static final byte MAP_SESSION_FLOOR = 0x36;
    public static final byte POOL_USERS = 0x37;

    private MetaKeys() {}

    static byte[] position() {
        return new byte[] {POSITION};
    }

    static byte[] counters() {
        return new byte[] {COUNTERS};
    }

    public static byte[] clusterId() {
        return new byte[] {CLUSTER_ID};
    }

    static byte[] settings() {
        return new byte[] {SETTINGS};
    }

    /** Also the prefix of all keys of this kind that begin with the number. */
    public static byte[] of(byte kind, long number) {
        byte[] key = new byte[9];
        key[0] = kind;
        putLong(key, 1, number);
        return key;
    }

    public static byte[] of(byte kind, long first, long second) {
        byte[] key = new byte[17];
        key[0] = kind;
        putLong(key, 1, first);
        putLong(key, 9, second);
        return key;
    }

    public static byte[] of(byte kind, long number, ByteString name) {
        byte[] key = new byte[9 + name.size()];
        key[0] = kind;
        putLong(key, 1, number);
        name.copyTo(key, 9);
        return key;
    }

    public static byte[] of(byte kind, ByteString bytes) {
        byte[] key = new byte[1 + bytes.size()];
        key[0] = kind;
        bytes.copyTo(key, 1);
        return key;
    }

    public static byte[] ofLeft(long inode, int pool) {
        byte[] key = new byte[13];
        key[0] = DELETION_LEFT;
        putLong(key, 1, inode);
        System.arraycopy(intValue(pool), 0, key, 9, Integer.BYTES);
        return key;
    }

    /** A part of the cluster map: ids are 32 bits wide. */
    public static byte[] ofMap(byte kind, int id) {
        return new byte[] {
            kind, (byte) (id >>> 24), (byte) (id >>> 16), (byte) (id >>> 8), (byte) id
        };
    }

    /** Of an inode in a pool or a placement group. */
    public static byte[] ofMap(byte kind, int id, long inode) {
        byte[] key = new byte[13];
        System.arraycopy(ofMap(kind, id), 0, key, 0, 5);
        putLong(key, 5, inode);
        return key;
    }

    public static byte[] prefix(byte kind) {
        return new byte[] {kind};
    }

    /** The number at an offset of a key or value. */
    public static long longAt(byte[] bytes, int offset) {
        long number = 0;
        for (int i = 0; i < 8; i++) {
            number = (number << 8) | (bytes[offset + i] & 0xff);
        }
        return number;
    }

    public static byte[] longValue(long number) {
        byte[] value = new byte[8];
        putLong(value, 0, number);
        return value;
    }

    public static int intAt(byte[] bytes, int offset) {
        return (bytes[offset] << 24)
                | ((bytes[offset + 1] & 0xff) << 16)
                | ((bytes[offset + 2] & 0xff) << 8)
                | (bytes[offset + 3] & 0xff);
    }

    public static byte[] intValue(int number) {
        return new byte[] {
            (byte) (number >>> 24), (byte) (number >>> 16), (byte) (number >>> 8), (byte) number
        };
    }

    static boolean startsWith(byte[] key, byte[] prefix) {
        if (key.length < prefix.length) {
            return false;
        }
        for (int i = 0; i < prefix.length; i++) {
            if (key[i] != prefix[i]) {
                return false;
            }
        }
        return true;
    }

    private static void putLong(byte[] to, int offset, long number) {
        for (int i = 7; i >= 0; i--) {
            to[offset + i] = (byte) number;
            number >>>= 8;
        }
    }
}
