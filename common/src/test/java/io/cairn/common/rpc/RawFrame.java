package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** Builds frames byte by byte, right ones and wrong ones, without the code under test. */
public final class RawFrame {
    public int magic = 0x314E5243;
    public int kind = 1;
    public int flags;
    public int method;
    public long requestId = 1;
    public int word = 1000;
    public int reserved;
    public byte[] head = new byte[0];
    public byte[] payload = new byte[0];

    /** Null: the right one. */
    public @Nullable Integer bodyLength;

    public @Nullable Integer headLength;
    public @Nullable Integer headCrc;
    public @Nullable Integer headerCrc;

    public static RawFrame of(int kind) {
        RawFrame frame = new RawFrame();
        frame.kind = kind;
        return frame;
    }

    public static RawFrame hello(MessageLite hello) {
        RawFrame frame = of(4);
        frame.head = hello.toByteArray();
        frame.requestId = 0;
        frame.word = 0;
        return frame;
    }

    public byte[] bytes() {
        ByteBuffer to = ByteBuffer.allocate(40 + head.length + payload.length);
        to.order(ByteOrder.LITTLE_ENDIAN);
        to.putInt(magic);
        to.putInt(bodyLength != null ? bodyLength : head.length + payload.length);
        to.put((byte) kind).put((byte) flags).putShort((short) method);
        to.putLong(requestId).putInt(word);
        to.putInt(headLength != null ? headLength : head.length);
        to.putInt(headCrc != null ? headCrc : head.length == 0 ? 0 : crc(head, head.length));
        to.putInt(reserved);
        to.putInt(headerCrc != null ? headerCrc : crc(to.array(), 36));
        to.put(head).put(payload);
        return to.array();
    }

    private static int crc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return (int) crc.getValue();
    }
}
