package io.cairn.common.rpc;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.FastThreadLocal;
import java.util.zip.CRC32C;

/** The checksum of a frame's head. Any thread. */
final class HeadCrc {
    /** Heads are short: from an array their checksum is one intrinsic call. */
    private static final int SCRATCH_BYTES = 1024;

    /** Of the thread, not of the connection: thousands of those may be idle. */
    private static final FastThreadLocal<byte[]> SCRATCH =
            new FastThreadLocal<>() {
                @Override
                protected byte[] initialValue() {
                    return new byte[SCRATCH_BYTES];
                }
            };

    private HeadCrc() {}

    /**
     * 0 for an empty head.
     *
     * @param crc used and reset
     */
    static int of(ByteBuf frame, int start, int length, CRC32C crc) {
        if (length == 0) {
            return 0;
        }
        crc.reset();
        if (length <= SCRATCH_BYTES) {
            byte[] scratch = SCRATCH.get();
            frame.getBytes(start, scratch, 0, length);
            crc.update(scratch, 0, length);
        } else {
            crc.update(frame.nioBuffer(start, length));
        }
        return (int) crc.getValue();
    }
}
