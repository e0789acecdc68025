package io.cairn.fuse.memory;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Sparse bytes of a file in direct memory; what was never written is zero. Any thread. */
final class MemoryContent {
    private static final int CHUNK_BYTES = 128 << 10;
    private static final ByteBuf ZEROS =
            Unpooled.unreleasableBuffer(
                    Unpooled.directBuffer(CHUNK_BYTES).writeZero(CHUNK_BYTES).asReadOnly());

    private final ConcurrentHashMap<Long, ByteBuf> chunks = new ConcurrentHashMap<>();

    /** Straight from the memory it lies in; the caller has bounded it by the size. */
    ByteBuf read(long offset, int length) {
        int inChunk = (int) (offset % CHUNK_BYTES);
        if (inChunk + length <= CHUNK_BYTES) {
            return piece(offset, length);
        }
        CompositeByteBuf all = Unpooled.compositeBuffer();
        int done = 0;
        while (done < length) {
            long at = offset + done;
            int part = (int) Math.min(length - done, CHUNK_BYTES - at % CHUNK_BYTES);
            all.addComponent(true, piece(at, part));
            done += part;
        }
        return all;
    }

    private ByteBuf piece(long offset, int length) {
        @Nullable ByteBuf chunk = chunks.get(offset / CHUNK_BYTES);
        return chunk == null
                ? ZEROS.slice(0, length)
                : chunk.retainedSlice((int) (offset % CHUNK_BYTES), length);
    }

    void write(long offset, ByteBuf data) {
        long at = offset;
        while (data.isReadable()) {
            int inChunk = (int) (at % CHUNK_BYTES);
            int part = Math.min(data.readableBytes(), CHUNK_BYTES - inChunk);
            ByteBuf chunk =
                    chunks.computeIfAbsent(
                            at / CHUNK_BYTES,
                            n -> Unpooled.wrappedBuffer(ByteBuffer.allocateDirect(CHUNK_BYTES)));
            data.readBytes(chunk.duplicate().setIndex(0, inChunk), part);
            at += part;
        }
    }

    /** Drops what lies at or beyond the size. */
    void truncate(long size) {
        long last = size / CHUNK_BYTES;
        chunks.keySet().removeIf(n -> n > last);
        @Nullable ByteBuf chunk = chunks.get(last);
        if (chunk != null) {
            int keep = (int) (size % CHUNK_BYTES);
            chunk.setZero(keep, CHUNK_BYTES - keep);
        }
    }
}
