package io.cairn.cli.output;

import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.DiskPlan;
import io.cairn.common.proto.PlannedMove;
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
        json.put("moves", plan.getMovesList().stream().map(BalanceReport::asMap).toList());
        if (plan.hasAllMoves()) {
            json.put("moves_total", plan.getAllMoves());
        }
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

    private static Map<String, Object> asMap(PlannedMove move) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("pg", Integer.toHexString(move.getPg()));
        if (move.getFrom() != 0) {
            json.put("from", move.getFrom());
        }
        json.put("to", move.getTo());
        json.put("bytes", move.getBytes());
        return json;
    }

    /** Totals, and the disks. */
    public void print(PrintWriter out) {
        out.println("moves     " + totals());
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

    /** A row for each replica that moves. */
    public void printMoves(PrintWriter out) {
        if (!plan.hasAllMoves()) {
            out.println(
                    "the leader of the metadata service is of a release that does not name moves: upgrade it");
        } else if (plan.getMovesCount() > 0) {
            String row = "%-9s %6s %6s %11s%n";
            out.printf(row, "PG", "FROM", "TO", "BYTES");
            for (PlannedMove move : plan.getMovesList()) {
                out.printf(
                        row,
                        Integer.toHexString(move.getPg()),
                        move.getFrom() == 0 ? "-" : move.getFrom(),
                        move.getTo(),
                        Sizes.text(move.getBytes()));
            }
            if (plan.getAllMoves() > plan.getMovesCount()) {
                out.printf(
                        Locale.ROOT,
                        "these are the first %,d of %,d moves%n",
                        plan.getMovesCount(),
                        plan.getAllMoves());
            }
        }
        out.flush();
    }

    private String totals() {
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
