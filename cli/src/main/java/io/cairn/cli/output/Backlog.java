package io.cairn.cli.output;

import io.cairn.common.proto.StatusReply;
import java.util.Locale;
import java.util.Map;

/**
 * What the reaper still has to delete, how fast it does, and how long it will take.
 *
 * @param inodes files without names whose data is still there
 * @param bytes their sizes
 * @param inodesPerSecond lately; 0: nothing was deleted yet
 * @param etaSeconds below 0: cannot be said
 * @param limit of files per second; 0: none
 */
record Backlog(long inodes, long bytes, double inodesPerSecond, double etaSeconds, long limit) {
    static Backlog of(StatusReply status) {
        return new Backlog(
                status.getDeletionBacklogInodes(),
                status.getDeletionBacklogBytes(),
                status.getDeletionRate(),
                status.getDeletionEtaSeconds(),
                status.getDeletionLimit());
    }

    void putInto(Map<String, Object> json) {
        json.put("deletion_backlog_inodes", inodes);
        json.put("deletion_backlog_bytes", bytes);
        json.put("deletion_inodes_per_second", inodesPerSecond);
        json.put("deletion_limit_inodes_per_second", limit);
        if (etaSeconds >= 0) {
            json.put("deletion_eta_seconds", etaSeconds);
        }
    }

    String text() {
        return String.format(
                Locale.ROOT,
                "%,d files, %s, %s%s",
                inodes,
                Sizes.text(bytes),
                etaSeconds < 0
                        ? "none deleted lately"
                        : String.format(
                                Locale.ROOT,
                                "%,.0f files/s, done in about %s",
                                inodesPerSecond,
                                Spans.text(etaSeconds)),
                limit == 0
                        ? ""
                        : String.format(Locale.ROOT, " (reaper.rate: %,d/s at most)", limit));
    }
}
