package io.cairn.common.seed;

import java.util.Random;
import java.util.stream.LongStream;

/**
 * The seed of random tests: given by {@code -Dcairn.test.seed=}, else drawn once for this JVM;
 * always printed. A test that is run again in the same JVM, as CI does with one that failed, has
 * the seed it failed with.
 */
public final class TestSeed {
    private static final Long GIVEN = Long.getLong("cairn.test.seed");
    private static final long SEED = GIVEN != null ? GIVEN : System.nanoTime() & Integer.MAX_VALUE;
    private static final Long FIRST = Long.getLong("cairn.test.first.seed");

    private TestSeed() {}

    public static long of(String test) {
        System.out.println(test + ": -Dcairn.test.seed=" + SEED);
        return SEED;
    }

    public static Random random(String test) {
        return new Random(of(test));
    }

    /**
     * The seeds of a test that runs with several: so many from the one that {@code
     * -Dcairn.test.first.seed=} gives, else the one that was given, else so many from a random one.
     */
    public static LongStream several(String test, int count) {
        if (FIRST != null) {
            return LongStream.range(FIRST, FIRST + count);
        }
        return LongStream.range(of(test), SEED + (GIVEN != null ? 1 : count));
    }
}
