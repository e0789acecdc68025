package io.cairn.cli.output;

import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.StatusReply;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;

/** How old the oldest scrubs of the cluster are, what is running, and what was found. */
record ScrubStatus(List<ScrubReport> reports) {
    static ScrubStatus of(StatusReply status) {
        return new ScrubStatus(
                status.getServersList().stream()
                        .filter(ServerStatus::hasScrub)
                        .map(ServerStatus::getScrub)
                        .filter(r -> r.getGroups() > 0 || r.getQuarantined() > 0)
                        .toList());
    }

    /** No data server has said anything of scrubs yet. */
    boolean isEmpty() {
        return reports.isEmpty();
    }

    private int sum(ToIntFunction<ScrubReport> count) {
        return reports.stream().mapToInt(count).sum();
    }

    private long oldest(ToLongFunction<ScrubReport> seconds) {
        return reports.stream().mapToLong(seconds).max().orElse(0);
    }

    Map<String, Object> asMap() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("oldest_light_seconds", oldest(ScrubReport::getOldestLightSeconds));
        json.put("oldest_deep_seconds", oldest(ScrubReport::getOldestDeepSeconds));
        json.put("pgs_never_deep", sum(ScrubReport::getNeverDeep));
        json.put("running", sum(ScrubReport::getRunning));
        json.put("running_deep", sum(ScrubReport::getRunningDeep));
        json.put("differences", sum(ScrubReport::getDifferences));
        json.put("quarantined_blocks", sum(ScrubReport::getQuarantined));
        json.put("difference_texts", texts(ScrubReport::getDifferenceTextsList));
        json.put("quarantined_texts", texts(ScrubReport::getQuarantinedTextsList));
        return json;
    }

    private List<String> texts(Function<ScrubReport, ? extends List<String>> texts) {
        return reports.stream().flatMap(r -> texts.apply(r).stream()).toList();
    }

    /** {@code oldest light 3 h ago, oldest deep 2 days ago, 5 running (1 deep)}. */
    String text() {
        StringBuilder text = new StringBuilder();
        text.append("oldest light ")
                .append(Spans.text(oldest(ScrubReport::getOldestLightSeconds)))
                .append(" ago, oldest deep ")
                .append(Spans.text(oldest(ScrubReport::getOldestDeepSeconds)))
                .append(" ago");
        count(text, sum(ScrubReport::getNeverDeep), "%d placement groups never scrubbed deeply");
        count(text, sum(ScrubReport::getRunning), "%d running");
        count(text, sum(ScrubReport::getDifferences), "%d DIFFERENCES between replicas");
        count(text, sum(ScrubReport::getQuarantined), "%d blocks in QUARANTINE");
        return text.toString();
    }

    private static void count(StringBuilder text, int number, String format) {
        if (number > 0) {
            text.append(", ").append(String.format(Locale.ROOT, format, number));
        }
    }
}
