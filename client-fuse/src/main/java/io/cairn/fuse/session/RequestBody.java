package io.cairn.fuse.session;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.fuse.kernel.HeaderFormat;
import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;

/**
 * What follows a request's header, in the reader's buffer: decoded in place, valid until the
 * handler returns, used by the reader thread only.
 */
public final class RequestBody {
    private final RequestBuffers buffers;
    private ByteBuf buffer;
    private MemorySegment memory;
    private MemorySegment body;

    RequestBody(RequestBuffers buffers) {
        this.buffers = buffers;
        this.buffer = buffers.request();
        this.memory = MemorySegment.ofBuffer(buffer.nioBuffer(0, buffers.requestBytes()));
        this.body = memory;
    }

    /** The whole buffer, for the next request to be read into. */
    MemorySegment memory() {
        return memory;
    }

    /** Says how long the request read into the buffer is, header included. */
    void limit(long requestBytes) {
        body = memory.asSlice(HeaderFormat.IN_SIZE, requestBytes - HeaderFormat.IN_SIZE);
    }

    void release() {
        buffer.release();
    }

    /** For the formats to read from. */
    public MemorySegment segment() {
        return body;
    }

    /** The bytes up to the NUL at or after the offset. */
    public byte[] string(long offset) {
        long end = offset;
        while (end < body.byteSize() && body.get(JAVA_BYTE, end) != 0) {
            end++;
        }
        if (end >= body.byteSize()) {
            throw new FsException(Errno.EINVAL, "a name in a FUSE request has no end");
        }
        return bytes(offset, end - offset);
    }

    public byte[] bytes(long offset, long length) {
        require(offset, length);
        byte[] copy = new byte[(int) length];
        MemorySegment.copy(body, JAVA_BYTE, offset, copy, 0, copy.length);
        return copy;
    }

    /**
     * Part of the body as a buffer that outlives this request: the reader's own buffer, replaced by
     * another, where the part is large; a copy where it is small.
     */
    public ByteBuf take(long offset, int length) {
        require(offset, length);
        int start = HeaderFormat.IN_SIZE + (int) offset;
        if (length < buffers.copyBelowBytes()) {
            return buffers.copy(buffer, start, length);
        }
        ByteBuf fresh = buffers.request();
        ByteBuf taken = buffer.setIndex(start, start + length);
        buffer = fresh;
        memory = MemorySegment.ofBuffer(fresh.nioBuffer(0, buffers.requestBytes()));
        body = MemorySegment.NULL;
        return taken;
    }

    private void require(long offset, long length) {
        if (length < 0 || offset > body.byteSize() || length > body.byteSize() - offset) {
            throw new FsException(Errno.EINVAL, "a FUSE request is shorter than it says");
        }
    }
}
