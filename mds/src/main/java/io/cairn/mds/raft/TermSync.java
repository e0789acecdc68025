package io.cairn.mds.raft;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;

/**
 * Makes Ratis's file of term and vote durable. Ratis writes a new file, syncs it and renames it
 * over the old one, but does not sync the directory. After a power cut the old file may be there
 * again, and the member might vote a second time in one term. Any thread.
 */
final class TermSync {
    private final Sync directory;
    private final Failure failure;
    private long syncedTerm = -1;

    /** fsync of the directory. */
    @FunctionalInterface
    interface Sync {
        void sync() throws IOException;
    }

    /** Told when it failed: the process must stop. */
    @FunctionalInterface
    interface Failure {
        void failed(String reason, Throwable cause);
    }

    TermSync(Sync directory, Failure failure) {
        this.directory = directory;
        this.failure = failure;
    }

    /** Whatever term and vote were written before this call are durable when it returns. */
    void sync() throws IOException {
        try {
            directory.sync();
        } catch (ClosedByInterruptException e) {
            // Ratis interrupts an election that is over: nothing is sent, and no disk has failed.
            throw e;
        } catch (IOException | RuntimeException e) {
            failure.failed("the directory of the Raft log could not be synced", e);
            throw e;
        }
    }

    /** The same for a term alone: it is synced once. */
    synchronized void syncTerm(long term) throws IOException {
        if (term > syncedTerm) {
            sync();
            syncedTerm = term;
        }
    }
}
