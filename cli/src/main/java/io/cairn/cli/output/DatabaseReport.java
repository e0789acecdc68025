package io.cairn.cli.output;

import io.cairn.common.proto.CompactionStatus;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.LevelStatus;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Where the tables of a part's databases lie, and how its compaction goes; text or JSON. */
public final class DatabaseReport {
    private DatabaseReport() {}

    public static List<Object> asList(DatabasesReply reply) {
        List<Object> databases = new ArrayList<>();
        for (DatabaseStatus status : reply.getDatabasesList()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("name", status.getName());
            json.put("two_devices", status.getTwoDevices());
            if (status.getTwoDevices()) {
                json.put("fast_levels", status.getFastLevels());
            }
            List<Object> levels = new ArrayList<>();
            for (LevelStatus level : status.getLevelsList()) {
                Map<String, Object> l = new LinkedHashMap<>();
                l.put("level", level.getLevel());
                l.put("fast_bytes", level.getFastBytes());
                l.put("slow_bytes", level.getSlowBytes());
                l.put("tables", level.getTables());
                levels.add(l);
            }
            json.put("levels", levels);
            json.put("warnings", List.copyOf(status.getWarningsList()));
            json.put("notes", List.copyOf(status.getNotesList()));
            if (status.hasCompaction()) {
                CompactionStatus compaction = status.getCompaction();
                Map<String, Object> c = new LinkedHashMap<>();
                c.put("running", compaction.getRunning());
                c.put("total_bytes", compaction.getTotalBytes());
                c.put("done_bytes", compaction.getDoneBytes());
                c.put("error", compaction.getError());
                json.put("compaction", c);
            }
            databases.add(json);
        }
        return databases;
    }

    public static void print(String part, DatabasesReply reply, PrintWriter out) {
        for (DatabaseStatus status : reply.getDatabasesList()) {
            out.printf("database  %s  %s%s%n", part, status.getName(), compacting(status));
            for (LevelStatus level : status.getLevelsList()) {
                String slow =
                        status.getTwoDevices()
                                ? " on the fast device, %s on the slow one"
                                        .formatted(Sizes.text(level.getSlowBytes()))
                                : "";
                out.printf(
                        "          level %d  %s%s, %,d tables%n",
                        level.getLevel(),
                        Sizes.text(level.getFastBytes()),
                        slow,
                        level.getTables());
            }
        }
    }

    private static String compacting(DatabaseStatus status) {
        CompactionStatus c = status.getCompaction();
        return c.getRunning()
                ? "  compacting, " + Sizes.progress(c.getDoneBytes(), c.getTotalBytes())
                : "";
    }

    /** What a compaction that has ended has done, a line for each database. */
    public static void printCompacted(String part, DatabasesReply reply, PrintWriter out) {
        for (DatabaseStatus status : reply.getDatabasesList()) {
            CompactionStatus c = status.getCompaction();
            out.printf(
                    "%s  %s  %s%n",
                    part, status.getName(), Sizes.progress(c.getDoneBytes(), c.getTotalBytes()));
        }
        out.flush();
    }
}
