package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.DiskOpenException;
import java.io.IOException;

/** Receives the records of a recovered log in order of LSN, on the opening thread. */
public interface WalReplay {
    /**
     * An operation. The payload of a WRITE may be damaged, which shows when it is read; other
     * payloads are intact.
     */
    void operation(WalRecord record) throws IOException, DiskOpenException;

    /** The PG's operations after the sequence that came before this are void. */
    void dropTail(int pg, long lastSequenceKept) throws IOException, DiskOpenException;
}
