package io.cairn.mds.raft;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.file.Path;

/**
 * The state that the Raft group replicates, as this room sees it. One thread calls {@code apply},
 * in index order; any thread may call the rest.
 */
public interface ReplicatedState extends AutoCloseable {
    /** Executes a {@code LogEntry}; deterministic. Returns an {@code ApplyReply}. */
    ByteString apply(long term, long index, ByteString entry);

    /** Whether the bytes are an entry at all: asked before they are logged. Any thread. */
    boolean readable(ByteString entry);

    /** Index of the last applied entry, 0 if none; entries up to it are not applied again. */
    long appliedIndex();

    long appliedTerm();

    /** Notes an entry that carries nothing for us (a configuration, an election). */
    void skip(long term, long index);

    /**
     * Makes what was applied so far durable, while entries go on being applied: before a
     * checkpoint, which then has little left to write.
     */
    void flush() throws IOException;

    /**
     * Writes a consistent copy of everything up to a certain index into the directory, which must
     * not exist, fsyncs it, and returns that index and its term.
     */
    Position checkpoint(Path directory) throws IOException;

    /** Replaces everything by the checkpoint in the directory (a snapshot from another member). */
    void restore(Path directory) throws IOException;

    @Override
    void close();

    /** A place in the Raft log. */
    record Position(long term, long index) {}
}
