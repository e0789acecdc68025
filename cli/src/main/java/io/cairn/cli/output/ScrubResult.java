package io.cairn.cli.output;

import io.cairn.common.proto.ScrubProgressReply;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the scrubs that a command asked for have done and found, on all data servers. */
public final class ScrubResult {
    private final boolean deep;
    private final List<String> failures = new ArrayList<>();
    private final List<String> differences = new ArrayList<>();
    private int waiting;
    private int done;
    private long chunks;
    private long bytes;
    private long badBlocks;
    private long skipped;
    private long orphans;
    private int notLooked;

    /**
     * @param servers what each data server says
     * @param notBegun why other placement groups are not scrubbed
     */
    public ScrubResult(
            boolean deep, Collection<ScrubProgressReply> servers, List<String> notBegun) {
        this.deep = deep;
        failures.addAll(notBegun);
        for (ScrubProgressReply s : servers) {
            waiting += s.getWaiting();
            done += s.getDone() - s.getFailuresCount();
            chunks += s.getChunks();
            bytes += s.getBytes();
            badBlocks += s.getBadBlocks();
            skipped += s.getSkipped();
            orphans += s.getOrphans();
            notLooked += s.getNotLookedForOrphans();
            differences.addAll(s.getDifferencesList());
            failures.addAll(s.getFailuresList());
        }
    }

    /** Whether all placement groups were scrubbed to the end. */
    public boolean isComplete() {
        return failures.isEmpty();
    }

    /** Whether neither damage nor a difference was found. */
    public boolean isClean() {
        return badBlocks == 0 && differences.isEmpty();
    }

    /** {@code 12 of 16 placement groups, 3.20 GiB read}. */
    public String progress() {
        int all = waiting + done + failures.size();
        return "%d of %d placement groups, %,d chunks%s"
                .formatted(
                        all - waiting,
                        all,
                        chunks,
                        deep ? ", %s read".formatted(Sizes.text(bytes)) : "");
    }

    public Map<String, Object> asMap() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("deep", deep);
        json.put("pgs", done);
        json.put("chunks", chunks);
        json.put("bytes", bytes);
        json.put("bad_blocks", badBlocks);
        json.put("skipped_chunks", skipped);
        json.put("orphans", orphans);
        json.put("pgs_not_looked_at_for_orphans", notLooked);
        json.put("differences", differences);
        json.put("failures", failures);
        return json;
    }

    public void print(PrintWriter out) {
        out.printf(
                "scrubbed  %d placement groups, %,d chunks%s%n",
                done,
                chunks,
                deep ? ", %s read on each replica and verified".formatted(Sizes.text(bytes)) : "");
        if (skipped > 0) {
            out.printf("skipped   %,d chunks that were written to all the time%n", skipped);
        }
        if (badBlocks > 0) {
            out.printf(
                    "damaged   %,d blocks: they are repaired from other replicas; 'cairn status' shows those that no replica has%n",
                    badBlocks);
        }
        if (orphans > 0) {
            out.printf(
                    "orphans   %,d times data of an inode that belongs to no file: see 'cairn orphans ls'%n",
                    orphans);
        }
        if (notLooked > 0) {
            out.printf(
                    "unknown   whether all data of %d placement groups belongs to files: the metadata service did not say%n",
                    notLooked);
        }
        differences.forEach(d -> out.printf("differs   %s%n", d));
        failures.forEach(f -> out.printf("failed    %s%n", f));
        out.flush();
    }
}
