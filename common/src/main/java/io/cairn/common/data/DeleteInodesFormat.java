package io.cairn.common.data;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;

/**
 * Layout of the payload of DELETE_INODES: one to 4,096 inode ids, u64 little-endian each. Described
 * in {@code docs/formats/data.md}. Stateless.
 */
public final class DeleteInodesFormat {
    public static final int MAX_INODES = 4096;
    public static final int ID_LENGTH = 8;

    private DeleteInodesFormat() {}

    static boolean validLength(int length) {
        return length > 0 && length <= MAX_INODES * ID_LENGTH && length % ID_LENGTH == 0;
    }

    public static int encodedLength(int inodes) {
        return inodes * ID_LENGTH;
    }

    /** Appends the ids. */
    public static void encode(long[] inodes, ByteBuf to) {
        if (!validLength(encodedLength(inodes.length))) {
            throw new IllegalArgumentException(inodes.length + " inodes");
        }
        to.ensureWritable(encodedLength(inodes.length));
        for (long inode : inodes) {
            to.writeLongLE(inode);
        }
    }

    /**
     * Reads the whole payload; the indices stay.
     *
     * @throws FsException EPROTO when it is not one to 4,096 ids
     */
    public static long[] decode(ByteBuf payload) {
        int length = payload.readableBytes();
        if (!validLength(length)) {
            throw new FsException(
                    Errno.EPROTO, "malformed deletion: " + length + " bytes of inode ids");
        }
        long[] inodes = new long[length / ID_LENGTH];
        for (int i = 0; i < inodes.length; i++) {
            inodes[i] = payload.getLongLE(payload.readerIndex() + i * ID_LENGTH);
        }
        return inodes;
    }
}
