package io.cairn.cli.output;

import io.cairn.common.proto.CompactionStatus;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import java.util.List;

/** How far the compaction of all databases of a server is, how fast, and how long it will take. */
public final class CompactionProgress {
    private final String part;
    private long firstBytes = -1;
    private long firstNanos;

    public CompactionProgress(String part) {
        this.part = part;
    }

    /** {@code data-2: 42 %, 1.20 GiB of 2.86 GiB, 3 of 12 databases, about 50 s left}. */
    public String text(DatabasesReply reply, long nowNanos) {
        List<CompactionStatus> all =
                reply.getDatabasesList().stream().map(DatabaseStatus::getCompaction).toList();
        long total = all.stream().mapToLong(CompactionStatus::getTotalBytes).sum();
        long done = all.stream().mapToLong(CompactionStatus::getDoneBytes).sum();
        long ended = all.stream().filter(c -> !c.getRunning()).count();
        if (firstBytes < 0) {
            firstBytes = done;
            firstNanos = nowNanos;
        }
        double seconds = (nowNanos - firstNanos) / 1e9;
        double rate = seconds > 0 ? (done - firstBytes) / seconds : 0;
        return "%s: %s%s%s"
                .formatted(
                        part,
                        Sizes.progress(done, total),
                        all.size() == 1 ? "" : ", %d of %d databases".formatted(ended, all.size()),
                        rate > 0 ? ", about " + Spans.text((total - done) / rate) + " left" : "");
    }
}
