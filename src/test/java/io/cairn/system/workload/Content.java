package io.cairn.system.workload;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.TreeSet;

/** A value as bytes: a line with it, again and again, so that half of another one shows. */
final class Content {
    private static final int LINE = 64;

    private Content() {}

    /** Fills the buffer, from its beginning to its capacity. */
    static void put(String value, ByteBuffer buffer) {
        byte[] line =
                (value + " ".repeat(LINE - 1 - value.length()) + "\n")
                        .getBytes(StandardCharsets.US_ASCII);
        buffer.clear();
        while (buffer.hasRemaining()) {
            buffer.put(line);
        }
        buffer.flip();
    }

    /** The value in it; if there are several, all of them. */
    static String get(ByteBuffer buffer) {
        Set<String> values = new TreeSet<>();
        byte[] line = new byte[LINE];
        buffer.flip();
        while (buffer.remaining() >= LINE) {
            buffer.get(line);
            values.add(new String(line, StandardCharsets.ISO_8859_1).strip());
        }
        return values.size() == 1 ? values.iterator().next() : "torn" + values;
    }

    static void write(FileChannel file, ByteBuffer buffer) throws IOException {
        int length = buffer.remaining();
        int written = file.write(buffer, 0);
        if (written != length) {
            throw new IOException("%d of %d bytes written".formatted(written, length));
        }
    }

    static void read(FileChannel file, ByteBuffer buffer) throws IOException {
        buffer.clear();
        int read = file.read(buffer, 0);
        if (read != buffer.capacity()) {
            throw new EOFException("%d of %d bytes read".formatted(read, buffer.capacity()));
        }
    }
}
