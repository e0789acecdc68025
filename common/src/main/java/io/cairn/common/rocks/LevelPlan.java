package io.cairn.common.rocks;

/**
 * Which levels lie on the fast device. RocksDB walks through the levels and puts one on a device
 * while the full sizes of it and of all above still fit into what is left of that device's {@code
 * db_paths} size; it counts level 0 as one base more ({@code LevelCompactionBuilder::GetPathId}). A
 * level that does not fit as a whole goes to the slow device as a whole, so only certain bases are
 * useful. See docs/adr/0005-level-sizing.md.
 *
 * @param baseBytes {@code max_bytes_for_level_base}
 * @param levels the last level on the fast device; 0 if only level 0 lies there
 * @param exact false if no number of levels brings the base into 256 MiB … 1 GiB and 1 GiB was
 *     taken, which leaves part of the fast device unused
 * @param pathBytes the size that RocksDB is told of the fast device
 */
public record LevelPlan(long baseBytes, int levels, boolean exact, long pathBytes) {
    private static final long MIB = 1L << 20;

    /**
     * Space left beside levels 1, 2, 3 …. The study has the logs there. Ours lie elsewhere, and so
     * level 0 has it, which RocksDB takes for one base, 1 GiB at most.
     */
    static final long LOG_BYTES = 2L << 30;

    static final long MIN_BASE_BYTES = 256 * MIB;
    static final long MAX_BASE_BYTES = 1024 * MIB;

    /**
     * The smallest fast device for which there is a plan, by {@link LevelSizing#AUTO_COMPACT_SAFE}
     * too.
     */
    static final long MIN_FAST_BYTES = LOG_BYTES + 2 * MIN_BASE_BYTES;

    /**
     * Divides the space by the size of 1, 2, 3 … levels in units of the base until the base lies in
     * 256 MiB … 1 GiB.
     *
     * @param fastBytes size of the fast device, at least 2.5 GiB
     * @param multiplier {@code max_bytes_for_level_multiplier}, at least 2
     */
    public static LevelPlan of(long fastBytes, int multiplier, boolean compactSafe) {
        long space = fastBytes - LOG_BYTES;
        int fitting = 0;
        for (int levels = 1;
                units(levels, multiplier, compactSafe) <= space / MIN_BASE_BYTES;
                levels++) {
            long base = space / units(levels, multiplier, compactSafe) / MIB * MIB;
            if (base >= MIN_BASE_BYTES && base <= MAX_BASE_BYTES) {
                return new LevelPlan(base, levels, true, pathBytes(base, levels, multiplier));
            }
            fitting = levels;
        }
        if (fitting == 0) {
            throw new IllegalArgumentException("no level fits into " + fastBytes + " bytes");
        }
        return new LevelPlan(
                MAX_BASE_BYTES, fitting, false, pathBytes(MAX_BASE_BYTES, fitting, multiplier));
    }

    /** What RocksDB makes of a base that is given. */
    static LevelPlan fixed(long fastBytes, long baseBytes, double multiplier) {
        long path = fastBytes - LOG_BYTES;
        int levels = 0;
        long size = baseBytes;
        for (long left = path - baseBytes; left >= size; levels++) {
            left -= size;
            size = (long) (size * multiplier);
        }
        return new LevelPlan(baseBytes, levels, true, path);
    }

    /** Whether all of a level lies on the fast device. */
    boolean isFast(int level) {
        return level <= levels;
    }

    /**
     * Level 0 as RocksDB counts it, and the levels planned: no byte less, else the largest level,
     * nine tenths of the database, goes to the slow device; and no more, else one below might come.
     */
    private static long pathBytes(long base, int levels, int multiplier) {
        return base * (1 + units(levels, multiplier, false));
    }

    /**
     * Size of so many levels in units of the base: 1, 11, 111 … for multiplier 10. A full manual
     * compaction needs its first and its last level a second time: 2, 22, 212, 2112 ….
     */
    private static long units(int levels, int multiplier, boolean compactSafe) {
        long sum = 0;
        long last = 1;
        for (int i = 0; i < levels; i++) {
            last = i == 0 ? 1 : last * multiplier;
            sum += last;
        }
        long twice = levels == 1 ? 1 : last + 1;
        return compactSafe ? sum + twice : sum;
    }
}
