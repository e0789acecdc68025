package io.cairn.dataserver.scrub;

import java.util.ArrayList;
import java.util.List;

/** What scrubs have done and found by now. Any thread. */
final class ScrubTally {
    // guarded by this
    private long chunks;
    private long bytes;
    private int badBlocks;
    private int skipped;
    private final List<ScrubDifference> differences = new ArrayList<>();

    /**
     * @param differences a copy
     */
    record Counts(
            long chunks,
            long bytes,
            int badBlocks,
            int skipped,
            List<ScrubDifference> differences) {
        Counts plus(Counts o) {
            List<ScrubDifference> both = new ArrayList<>(differences);
            both.addAll(o.differences);
            return new Counts(
                    chunks + o.chunks,
                    bytes + o.bytes,
                    badBlocks + o.badBlocks,
                    skipped + o.skipped,
                    both);
        }
    }

    static final Counts NOTHING = new Counts(0, 0, 0, 0, List.of());

    synchronized void compared(int number) {
        chunks += number;
    }

    synchronized void read(long number) {
        bytes += number;
    }

    synchronized void bad(int blocks) {
        badBlocks += blocks;
    }

    /** A chunk was written to all the time: the next scrub may do better. */
    synchronized void skip() {
        skipped++;
    }

    synchronized void differs(ScrubDifference difference) {
        differences.add(difference);
    }

    synchronized int differences() {
        return differences.size();
    }

    synchronized Counts counts() {
        return new Counts(chunks, bytes, badBlocks, skipped, List.copyOf(differences));
    }
}
