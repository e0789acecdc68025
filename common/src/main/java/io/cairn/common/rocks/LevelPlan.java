package io.cairn.common.rocks;

/**
 * Sizes levels so that whole levels fit on the fast device: RocksDB puts a level there only if all
 * of it fits, so only certain bases are useful.
 *
 * @param baseBytes {@code max_bytes_for_level_base}
 * @param levels how many levels fit on the fast device
 * @param exact false if no number of levels brings the base into 256 MiB … 1 GiB and 1 GiB was
 *     taken, which leaves part of the fast device unused
 */
public record LevelPlan(long baseBytes, int levels, boolean exact) {
    private static final long MIB = 1L << 20;

    /** Space left for RocksDB's and our logs. */
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
                return new LevelPlan(base, levels, true);
            }
            fitting = levels;
        }
        if (fitting == 0) {
            throw new IllegalArgumentException("no level fits into " + fastBytes + " bytes");
        }
        return new LevelPlan(MAX_BASE_BYTES, fitting, false);
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
