package io.cairn.common.rocks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.rocksdb.LiveFileMetaData;

/**
 * Where the tables of one level lie.
 *
 * @param fastBytes on the fast device; of a database on one device, all of it
 * @param slowBytes on the slow device
 * @param tables their number
 */
public record LevelUse(int level, long fastBytes, long slowBytes, int tables) {
    private static final long MIB = 1L << 20;

    /** The levels that have tables, in their order. */
    static List<LevelUse> of(List<LiveFileMetaData> tables, DatabasePaths paths) {
        String slow = paths.split() ? paths.tables().get(1).toString() : "";
        Map<Integer, LevelUse> levels = new TreeMap<>();
        for (LiveFileMetaData table : tables) {
            boolean onSlow = table.path().equals(slow);
            levels.merge(
                    table.level(),
                    new LevelUse(
                            table.level(), onSlow ? 0 : table.size(), onSlow ? table.size() : 0, 1),
                    LevelUse::plus);
        }
        return List.copyOf(levels.values());
    }

    private LevelUse plus(LevelUse other) {
        return new LevelUse(
                level,
                fastBytes + other.fastBytes,
                slowBytes + other.slowBytes,
                tables + other.tables);
    }

    /**
     * A note for each level that lies on the slow device since the fast one has no room for it, as
     * it was planned; a warning for each that has tables on the other device than planned.
     */
    static Remarks remarks(String database, LevelPlan plan, List<LevelUse> levels) {
        List<String> warnings = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        for (LevelUse use : levels) {
            String level = "level %d of database %s".formatted(use.level, database);
            if (use.slowBytes > 0 && !plan.isFast(use.level)) {
                notes.add(
                        "%s (%s) lies on the slow device: fast_size has room for levels 0 to %d"
                                .formatted(level, text(use.slowBytes), plan.levels()));
            }
            if (use.slowBytes > 0 && plan.isFast(use.level)) {
                warnings.add(
                        "%s of %s lie on the slow device although the level fits on the fast one: cairn compact moves them"
                                .formatted(text(use.slowBytes), level));
            }
            if (use.fastBytes > 0 && !plan.isFast(use.level)) {
                warnings.add(
                        "%s of %s lie on the fast device, where fast_size has room for levels 0 to %d: cairn compact moves them"
                                .formatted(text(use.fastBytes), level, plan.levels()));
            }
        }
        return new Remarks(warnings, notes);
    }

    private static String text(long bytes) {
        return "%,d MiB".formatted((bytes + MIB - 1) / MIB);
    }
}
