package io.cairn.cli.output;

import io.cairn.common.proto.Orphan;
import io.cairn.common.proto.OrphanCount;
import io.cairn.common.proto.OrphanId;
import io.cairn.common.proto.OrphanState;
import io.cairn.common.proto.OrphanSummary;
import io.cairn.common.proto.Timespec;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.stream.Collectors;

/** What {@code cairn orphans} shows, and {@code cairn status} of it, as text or as JSON. */
public final class OrphanTable {
    private static final String ROW = "%-16s %-18s %10s %-20s %-20s %-16s %s%n";

    private OrphanTable() {}

    public static void print(
            List<Orphan> orphans,
            OrphanSummary summary,
            Map<Integer, String> pools,
            PrintWriter out) {
        if (orphans.isEmpty()) {
            out.println("no data is known that belongs to no file");
            out.flush();
            return;
        }
        out.printf(ROW, "POOL", "INODE", "BYTES", "SINCE", "LAST SEEN", "STATE", "PGS");
        for (Orphan o : orphans) {
            out.printf(
                    ROW,
                    pool(o.getPool(), pools),
                    "0x" + Long.toHexString(o.getInode()),
                    Sizes.text(o.getBytes()),
                    time(o.getSince()),
                    time(o.getSeen()),
                    state(o.getState()).replace('_', ' '),
                    pgs(o));
        }
        out.println(text(summary));
        summary.getHoldsList().forEach(why -> out.println("not removed by itself: " + why));
        out.flush();
    }

    private static String pgs(Orphan o) {
        String shown =
                o.getPgsList().stream().map(Integer::toHexString).collect(Collectors.joining(" "));
        int more = o.getPgCount() - o.getPgsCount();
        return shown
                + (more > 0 ? " and " + more + " more" : "")
                + (o.getOtherPool() ? " (its file is in another pool)" : "");
    }

    private static String pool(int id, Map<Integer, String> pools) {
        return pools.getOrDefault(id, Integer.toString(id));
    }

    private static String time(Timespec time) {
        return Instant.ofEpochSecond(time.getSeconds()).truncatedTo(ChronoUnit.SECONDS).toString();
    }

    private static String state(OrphanState state) {
        return state.name().replace("ORPHAN_", "").toLowerCase(Locale.ROOT);
    }

    public static Map<String, Object> asMap(
            List<Orphan> orphans, OrphanSummary summary, Map<Integer, String> pools) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("orphans", orphans.stream().map(o -> asMap(o, pools)).toList());
        json.put("summary", asMap(summary));
        return json;
    }

    private static Map<String, Object> asMap(Orphan o, Map<Integer, String> pools) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("pool", pool(o.getPool(), pools));
        json.put("inode", Long.toUnsignedString(o.getInode()));
        json.put("state", state(o.getState()));
        json.put("chunks", o.getChunks());
        json.put("bytes", o.getBytes());
        json.put("since", time(o.getSince()));
        json.put("last_seen", time(o.getSeen()));
        json.put("pgs", o.getPgsList().stream().map(Integer::toHexString).toList());
        json.put("pg_count", o.getPgCount());
        json.put("other_pool", o.getOtherPool());
        return json;
    }

    public static Map<String, Object> asMap(OrphanId id) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("pool_id", id.getPool());
        json.put("inode", Long.toUnsignedString(id.getInode()));
        return json;
    }

    // ---- in all -----------------------------------------------------------------

    static Map<String, Object> asMap(OrphanSummary summary) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("suspected", count(summary.getSuspected()));
        json.put("proven", count(summary.getProven()));
        json.put("kept", count(summary.getKept()));
        json.put("strange", count(summary.getStrange()));
        json.put("removing", count(summary.getRemoving()));
        json.put("automatic", summary.getAutomatic());
        json.put("holds", summary.getHoldsList());
        return json;
    }

    private static Map<String, Object> count(OrphanCount count) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("inodes", count.getInodes());
        json.put("bytes", count.getBytes());
        return json;
    }

    /** {@code 12 inodes suspected (3.00 MiB), 5 proven (1.00 MiB)}; empty: there are none. */
    static String text(OrphanSummary summary) {
        StringJoiner text = new StringJoiner(", ");
        add(text, summary.getSuspected(), "suspected");
        add(text, summary.getProven(), "proven");
        add(text, summary.getRemoving(), "being removed");
        add(text, summary.getKept(), "kept");
        add(text, summary.getStrange(), "of ids that no file can have had");
        return text.toString();
    }

    private static void add(StringJoiner text, OrphanCount count, String what) {
        if (count.getInodes() > 0) {
            text.add(
                    String.format(
                            Locale.ROOT,
                            "%,d %s %s (%s)",
                            count.getInodes(),
                            count.getInodes() == 1 ? "inode" : "inodes",
                            what,
                            Sizes.text(count.getBytes())));
        }
    }
}
