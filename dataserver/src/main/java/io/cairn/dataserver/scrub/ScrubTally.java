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
    private long orphans;
    private int notLooked;
    private final List<ScrubDifference> differences = new ArrayList<>();

    /**
     * @param orphans inodes with data and without a file, once for each group
     * @param notLooked groups of which that is not known
     * @param differences a copy
     */
    record Counts(
            long chunks,
            long bytes,
            int badBlocks,
            int skipped,
            long orphans,
            int notLooked,
            List<ScrubDifference> differences) {
        Counts plus(Counts o) {
            List<ScrubDifference> both = new ArrayList<>(differences);
            both.addAll(o.differences);
            return new Counts(
                    chunks + o.chunks,
                    bytes + o.bytes,
                    badBlocks + o.badBlocks,
                    skipped + o.skipped,
                    orphans + o.orphans,
                    notLooked + o.notLooked,
                    both);
        }
    }

    static final Counts NOTHING = new Counts(0, 0, 0, 0, 0, 0, List.of());

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

    /** Inodes with data and without a file in a group; below 0: that is not known. */
    synchronized void orphans(long inodes) {
        orphans += Math.max(0, inodes);
        notLooked += inodes < 0 ? 1 : 0;
    }

    synchronized void differs(ScrubDifference difference) {
        differences.add(difference);
    }

    synchronized int differences() {
        return differences.size();
    }

    synchronized Counts counts() {
        return new Counts(
                chunks, bytes, badBlocks, skipped, orphans, notLooked, List.copyOf(differences));
    }
}
