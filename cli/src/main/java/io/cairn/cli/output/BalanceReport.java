package io.cairn.cli.output;

import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.DiskPlan;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToIntFunction;

/** What {@code cairn balance --plan} shows, as text or as JSON. */
public final class BalanceReport {
    private final BalancePlanReply plan;
    private final Spread now;
    private final Spread then;

    /**
     * How replicas lie on the disks that may have some.
     *
     * @param least replicas on one disk
     * @param leastOfShare on one disk, as a part of its share by capacity
     */
    private record Spread(int least, int most, double leastOfShare, double mostOfShare) {
        static Spread of(List<DiskPlan> all, ToIntFunction<DiskPlan> replicas) {
            List<DiskPlan> disks =
                    all.stream().filter(d -> d.getPlaceable() && d.getShare() > 0).toList();
            return new Spread(
                    disks.stream().mapToInt(replicas).min().orElse(0),
                    disks.stream().mapToInt(replicas).max().orElse(0),
                    disks.stream()
                            .mapToDouble(d -> replicas.applyAsInt(d) / d.getShare())
                            .min()
                            .orElse(0),
                    disks.stream()
                            .mapToDouble(d -> replicas.applyAsInt(d) / d.getShare())
                            .max()
                            .orElse(0));
        }

        String text() {
            return String.format(
                    Locale.ROOT,
                    "%,d to %,d replicas per disk, %.0f %% to %.0f %% of its share by capacity",
                    least,
                    most,
                    100 * leastOfShare,
                    100 * mostOfShare);
        }
    }

    public BalanceReport(BalancePlanReply plan) {
        this.plan = plan;
        this.now = Spread.of(plan.getDisksList(), DiskPlan::getReplicasNow);
        this.then = Spread.of(plan.getDisksList(), DiskPlan::getReplicasThen);
    }

    public Map<String, Object> asMap() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("pgs", plan.getGroups());
        json.put("replicas", plan.getReplicas());
        json.put("bytes", plan.getBytes());
        json.put("primaries", plan.getPrimaries());
        json.put("holds", plan.getHoldsList());
        json.put("now", asMap(now));
        json.put("then", asMap(then));
        json.put("disks", plan.getDisksList().stream().map(BalanceReport::asMap).toList());
        return json;
    }

    private static Map<String, Object> asMap(Spread spread) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("least", spread.least);
        json.put("most", spread.most);
        json.put("least_of_share", spread.leastOfShare);
        json.put("most_of_share", spread.mostOfShare);
        return json;
    }

    private static Map<String, Object> asMap(DiskPlan disk) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("id", disk.getDisk());
        json.put("placeable", disk.getPlaceable());
        json.put("replicas_now", disk.getReplicasNow());
        json.put("replicas_then", disk.getReplicasThen());
        json.put("share", disk.getShare());
        return json;
    }

    public void print(PrintWriter out) {
        out.println("moves     " + moves());
        plan.getHoldsList().forEach(hold -> out.println("held      " + hold));
        out.println("now       " + now.text());
        out.println("then      " + then.text());
        String row = "%-6s %9s %9s %9s%n";
        out.printf(row, "DISK", "NOW", "THEN", "SHARE");
        for (DiskPlan disk : plan.getDisksList()) {
            out.printf(
                    row,
                    disk.getDisk(),
                    disk.getReplicasNow(),
                    disk.getReplicasThen(),
                    disk.getPlaceable()
                            ? String.format(Locale.ROOT, "%.1f", disk.getShare())
                            : "none");
        }
        out.flush();
    }

    private String moves() {
        if (plan.getGroups() + plan.getPrimaries() == 0) {
            return "nothing";
        }
        return "%,d placement groups, %,d replicas to copy, about %s%s"
                .formatted(
                        plan.getGroups(),
                        plan.getReplicas(),
                        Sizes.text(plan.getBytes()),
                        plan.getPrimaries() == 0
                                ? ""
                                : "; %,d only get another primary".formatted(plan.getPrimaries()));
    }
}
