package io.cairn.dataserver.wal;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Where the bytes of a logged operation are. Any thread. */
public interface PayloadSource {
    /** Fills the buffer from the offset on; not verified. */
    void read(int offset, ByteBuffer target) throws IOException;
}
