package io.cairn.dataserver.disk;

/** Consecutive 4 KiB blocks of the data file, numbered from its beginning. */
public record BlockRun(long first, int count) {
    public long end() {
        return first + count;
    }
}
