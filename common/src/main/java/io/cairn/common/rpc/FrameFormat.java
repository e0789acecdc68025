package io.cairn.common.rpc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Layout of one RPC frame: a fixed little-endian header, then the body, which is the head followed
 * by the payload. Described in {@code docs/formats/rpc.md}.
 *
 * <pre>
 *  0        4        8    9    10   12            20       24       28       32       36       40
 *  +--------+--------+----+----+----+-------------+--------+--------+--------+--------+--------+
 *  | magic  | body   |kind|flag|meth|  request    | word   | head   | head   | zero   | header |
 *  | "CRN1" | length |    | s  |od  |  id         |        | length | CRC32C |        | CRC32C |
 *  +--------+--------+----+----+----+-------------+--------+--------+--------+--------+--------+
 *  | head (headLength bytes) | payload (bodyLength - headLength bytes)
 *  +-------------------------+------------------------------------------------------------------
 * </pre>
 *
 * The word at 20 is, in a request, the milliseconds until the caller stops waiting; in a reply, the
 * status: errno | advice &lt;&lt; 16; otherwise 0. The header's CRC covers bytes 0 to 35, the
 * head's CRC the head; the payload carries the checksums of its own layer.
 *
 * <p>The functions work on the header in a {@code byte[HEADER_LENGTH]} that a connection reuses:
 * its CRC is then one intrinsic call and nothing is allocated. Stateless.
 */
public final class FrameFormat {
    /** Oldest and newest version of this protocol that this code speaks. */
    public static final int MIN_VERSION = 1;

    public static final int MAX_VERSION = 1;

    public static final int HEADER_LENGTH = 40;

    /** "CRN1" as it stands in the stream. */
    public static final int MAGIC = 0x314E5243;

    public static final int MAGIC_OFFSET = 0;
    public static final int BODY_LENGTH_OFFSET = 4;
    public static final int KIND_OFFSET = 8;
    public static final int FLAGS_OFFSET = 9;
    public static final int METHOD_OFFSET = 10;
    public static final int REQUEST_ID_OFFSET = 12;
    public static final int WORD_OFFSET = 20;
    public static final int HEAD_LENGTH_OFFSET = 24;
    public static final int HEAD_CRC_OFFSET = 28;
    public static final int RESERVED_OFFSET = 32;
    public static final int HEADER_CRC_OFFSET = 36;

    public static final int KIND_REQUEST = 1;
    public static final int KIND_REPLY = 2;
    public static final int KIND_ONE_WAY = 3;
    public static final int KIND_HELLO = 4;

    private static final VarHandle U16 =
            MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle U32 =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle U64 =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private FrameFormat() {}

    /**
     * Fills in a header.
     *
     * @param word deadline in milliseconds from now, or status; see above
     * @param crc used and reset
     */
    public static void encode(
            byte[] header,
            int kind,
            int method,
            long requestId,
            int word,
            int headLength,
            int headCrc,
            int payloadLength,
            CRC32C crc) {
        U32.set(header, MAGIC_OFFSET, MAGIC);
        U32.set(header, BODY_LENGTH_OFFSET, headLength + payloadLength);
        header[KIND_OFFSET] = (byte) kind;
        header[FLAGS_OFFSET] = 0;
        U16.set(header, METHOD_OFFSET, (short) method);
        U64.set(header, REQUEST_ID_OFFSET, requestId);
        U32.set(header, WORD_OFFSET, word);
        U32.set(header, HEAD_LENGTH_OFFSET, headLength);
        U32.set(header, HEAD_CRC_OFFSET, headCrc);
        U32.set(header, RESERVED_OFFSET, 0);
        U32.set(header, HEADER_CRC_OFFSET, headerCrc(header, crc));
    }

    /**
     * Checks everything a header can show to be wrong.
     *
     * @param maxBodyBytes longest body the receiver takes
     * @return what is wrong, for the log, or null
     */
    public static @Nullable String check(byte[] header, int maxBodyBytes, CRC32C crc) {
        if ((int) U32.get(header, MAGIC_OFFSET) != MAGIC) {
            return String.format(
                    "bad magic %08x, not a Cairn frame", (int) U32.get(header, MAGIC_OFFSET));
        }
        if ((int) U32.get(header, HEADER_CRC_OFFSET) != headerCrc(header, crc)) {
            return "header checksum is wrong";
        }
        int kind = kind(header);
        if (kind < KIND_REQUEST || kind > KIND_HELLO) {
            return "unknown frame kind " + kind;
        }
        if (header[FLAGS_OFFSET] != 0 || (int) U32.get(header, RESERVED_OFFSET) != 0) {
            return "reserved header bytes are set";
        }
        int body = bodyLength(header);
        if (body < 0 || body > maxBodyBytes) {
            return "frame body of "
                    + Integer.toUnsignedString(body)
                    + " bytes is larger than the allowed "
                    + maxBodyBytes;
        }
        int head = headLength(header);
        if (head < 0 || head > body) {
            return "frame head of "
                    + Integer.toUnsignedString(head)
                    + " bytes is longer than its body of "
                    + body;
        }
        return null;
    }

    private static int headerCrc(byte[] header, CRC32C crc) {
        crc.reset();
        crc.update(header, 0, HEADER_CRC_OFFSET);
        return (int) crc.getValue();
    }

    public static int bodyLength(byte[] header) {
        return (int) U32.get(header, BODY_LENGTH_OFFSET);
    }

    public static int kind(byte[] header) {
        return header[KIND_OFFSET] & 0xff;
    }

    public static int method(byte[] header) {
        return (short) U16.get(header, METHOD_OFFSET) & 0xffff;
    }

    public static long requestId(byte[] header) {
        return (long) U64.get(header, REQUEST_ID_OFFSET);
    }

    public static int word(byte[] header) {
        return (int) U32.get(header, WORD_OFFSET);
    }

    public static int headLength(byte[] header) {
        return (int) U32.get(header, HEAD_LENGTH_OFFSET);
    }

    public static int headCrc(byte[] header) {
        return (int) U32.get(header, HEAD_CRC_OFFSET);
    }

    /** Status word of a reply. */
    public static int status(int errno, int advice) {
        return (errno & 0xffff) | (advice & 0xff) << 16;
    }

    public static int errno(int status) {
        return status & 0xffff;
    }

    public static int advice(int status) {
        return status >>> 16 & 0xff;
    }
}
