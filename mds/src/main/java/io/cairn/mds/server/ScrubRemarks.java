package io.cairn.mds.server;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.Server;
import io.cairn.mds.cluster.ServerLeases.Known;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the administrator should know of what scrubs have found, as data servers reported it last.
 */
final class ScrubRemarks {
    /** So many findings are told in one warning. */
    private static final int MAX_TEXTS = 3;

    private ScrubRemarks() {}

    /**
     * @param noScrub whether an administrator holds scrubs back
     */
    static List<String> warnings(ClusterMap map, Map<Integer, Known> heard, boolean noScrub) {
        List<String> warnings = new ArrayList<>();
        if (noScrub) {
            warnings.add(
                    "noscrub is on: no scrub begins by schedule; 'cairn set noscrub off' ends that");
        }
        heard.forEach((id, known) -> {
            @Nullable Server server = map.server(id);
            @Nullable ScrubReport scrub = known.report().scrub();
            if (scrub != null && server != null && server.getUp()) {
                warnings.addAll(of(DataServerRemarks.name(id, server), scrub));
            }
        });
        return warnings;
    }

    private static List<String> of(String name, ScrubReport scrub) {
        List<String> warnings = new ArrayList<>();
        if (scrub.getQuarantined() > 0) {
            warnings.add(
                    "%s: %d damaged %s in quarantine, as no replica has the content; reads there fail until it is overwritten (%s)"
                            .formatted(
                                    name,
                                    scrub.getQuarantined(),
                                    scrub.getQuarantined() == 1 ? "block is" : "blocks are",
                                    some(scrub.getQuarantinedTextsList(), scrub.getQuarantined())));
        }
        if (scrub.getDifferences() > 0) {
            warnings.add(
                    "%s: scrubs found %d %s between replicas (%s): what one lacks is copied to it, all else is left as it is, see docs/troubleshooting.md"
                            .formatted(
                                    name,
                                    scrub.getDifferences(),
                                    scrub.getDifferences() == 1 ? "difference" : "differences",
                                    some(scrub.getDifferenceTextsList(), scrub.getDifferences())));
        }
        return warnings;
    }

    private static String some(List<String> texts, int all) {
        if (texts.isEmpty()) {
            return "found before the data server was started, which looks again";
        }
        List<String> shown = texts.stream().limit(MAX_TEXTS).toList();
        return String.join("; ", shown) + (all > shown.size() ? "; and others" : "");
    }
}
