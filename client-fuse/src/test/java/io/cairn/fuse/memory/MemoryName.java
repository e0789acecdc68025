package io.cairn.fuse.memory;

import com.google.protobuf.ByteString;
import java.util.Arrays;

/** Bytes as a map key. */
record MemoryName(ByteString bytes) implements Comparable<MemoryName> {
    static MemoryName of(byte[] bytes) {
        return new MemoryName(ByteString.copyFrom(bytes));
    }

    byte[] array() {
        return bytes.toByteArray();
    }

    @Override
    public int compareTo(MemoryName other) {
        return Arrays.compareUnsigned(array(), other.array());
    }
}
