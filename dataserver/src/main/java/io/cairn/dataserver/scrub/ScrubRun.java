package io.cairn.dataserver.scrub;

import io.cairn.common.proto.ScrubProgressReply;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The scrubs of this server that one command of an administrator asked for. Any thread. */
final class ScrubRun {
    private static final int MAX_TEXTS = 100;

    private final boolean deep;

    // guarded by this
    private final Set<Integer> waiting;
    private final List<String> failures = new ArrayList<>();
    private ScrubTally.Counts counts = ScrubTally.NOTHING;
    private ScrubTally running = new ScrubTally();
    private int done;

    ScrubRun(Collection<Integer> pgs, boolean deep) {
        this.deep = deep;
        waiting = new HashSet<>(pgs);
    }

    boolean deep() {
        return deep;
    }

    /** A group of it is being scrubbed now. */
    synchronized void begins(ScrubTally tally) {
        running = tally;
    }

    /** It is over. */
    synchronized void ended(int pg, ScrubTally tally) {
        waiting.remove(pg);
        running = new ScrubTally();
        counts = counts.plus(tally.counts());
        done++;
    }

    /** It did not come to the end. */
    synchronized void failed(int pg, ScrubTally tally, String why) {
        ended(pg, tally);
        failures.add("placement group %x: %s".formatted(pg, why));
    }

    synchronized boolean isOver() {
        return waiting.isEmpty();
    }

    synchronized ScrubProgressReply progress() {
        ScrubTally.Counts now = counts.plus(running.counts());
        return ScrubProgressReply.newBuilder()
                .setKnown(true)
                .setWaiting(waiting.size())
                .setDone(done)
                .setChunks(now.chunks())
                .setBytes(now.bytes())
                .setBadBlocks(now.badBlocks())
                .setSkipped(now.skipped())
                .setOrphans(now.orphans())
                .setNotLookedForOrphans(now.notLooked())
                .addAllDifferences(
                        now.differences().stream()
                                .limit(MAX_TEXTS)
                                .map(ScrubDifference::text)
                                .toList())
                .addAllFailures(failures.stream().limit(MAX_TEXTS).toList())
                .build();
    }
}
