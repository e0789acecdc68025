package io.cairn.cli.output;

import io.cairn.common.map.InSyncCounts;
import io.cairn.common.proto.StatusReply;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * What recovery and placement still have to copy, how fast they do, and how long it will take.
 *
 * @param moving placement groups that learn their new replicas, with nothing missing
 * @param replicas still to be copied
 * @param bytes that these have as a whole, about: of those that were away less is copied
 * @param perSecond lately; 0: none yet
 * @param etaSeconds not above 0: cannot be said
 */
record CopyBacklog(int moving, int replicas, long bytes, double perSecond, double etaSeconds) {
    static CopyBacklog of(StatusReply status) {
        return new CopyBacklog(
                InSyncCounts.of(status.getMap().getPgsList(), status.getMap().getPoolsList())
                        .moving(),
                status.getReplicasToCopy(),
                status.getBytesToCopy(),
                status.getCopyRate(),
                status.getCopyEtaSeconds());
    }

    boolean isEmpty() {
        return moving == 0 && replicas == 0;
    }

    Map<String, Object> asMap() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("pgs", moving);
        json.put("replicas_to_copy", replicas);
        json.put("bytes_to_copy", bytes);
        json.put("replicas_per_second", perSecond);
        if (etaSeconds > 0) {
            json.put("eta_seconds", etaSeconds);
        }
        return json;
    }

    String text() {
        return String.format(
                Locale.ROOT,
                "%,d placement groups, %,d replicas still to be copied%s%s",
                moving,
                replicas,
                bytes == 0 ? "" : ", at most about " + Sizes.text(bytes),
                etaSeconds <= 0
                        ? ""
                        : String.format(
                                Locale.ROOT,
                                ", %.2f replicas/s, done in about %s",
                                perSecond,
                                Spans.text(etaSeconds)));
    }
}
