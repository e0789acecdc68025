package io.cairn.common.data;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Little-endian access to any ByteBuffer at an absolute index, whatever byte order it is set to.
 * Stateless.
 */
final class LittleEndian {
    private static final VarHandle U16 =
            MethodHandles.byteBufferViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle U32 =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle U64 =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private LittleEndian() {}

    static int getU16(ByteBuffer from, int index) {
        return (short) U16.get(from, index) & 0xffff;
    }

    static int getInt(ByteBuffer from, int index) {
        return (int) U32.get(from, index);
    }

    static long getLong(ByteBuffer from, int index) {
        return (long) U64.get(from, index);
    }

    static void putU16(ByteBuffer to, int index, int value) {
        U16.set(to, index, (short) value);
    }

    static void putInt(ByteBuffer to, int index, int value) {
        U32.set(to, index, value);
    }

    static void putLong(ByteBuffer to, int index, long value) {
        U64.set(to, index, value);
    }
}
