package io.cairn.dataserver.disk;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Memory that a device can be read into and written from without the page cache. Stateless. */
public final class PageBuffers {
    private PageBuffers() {}

    /** Direct memory that begins at a page and has at least that many bytes, little-endian. */
    public static ByteBuffer allocate(int bytes) {
        int whole = wholePages(bytes);
        return aligned(ByteBuffer.allocateDirect(whole + DeviceFile.PAGE_BYTES), whole);
    }

    /** Of memory that is a page longer than needed: the part that begins at a page. */
    public static ByteBuffer aligned(ByteBuffer longer, int bytes) {
        return longer.alignedSlice(DeviceFile.PAGE_BYTES)
                .slice(0, bytes)
                .order(ByteOrder.LITTLE_ENDIAN);
    }

    /** So many bytes, rounded up. */
    public static int wholePages(int bytes) {
        return (bytes + DeviceFile.PAGE_BYTES - 1) & -DeviceFile.PAGE_BYTES;
    }
}
