package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.FatalHandler;

/**
 * The end of a log whose device failed, or that has half a record in memory: nothing more is
 * written, nobody waits for a segment any more, the process is told. Any thread.
 */
final class WalFailure {
    private final WalSegments segments;
    private final FatalHandler fatal;
    private volatile boolean failed;

    WalFailure(WalSegments segments, FatalHandler fatal) {
        this.segments = segments;
        this.fatal = fatal;
    }

    void fail(Throwable cause) {
        end();
        fatal.fatal("write-ahead log of disk " + segments.disk() + " failed", cause);
    }

    /** The process knows. */
    void end() {
        failed = true;
        segments.stop();
    }

    boolean failed() {
        return failed;
    }
}
