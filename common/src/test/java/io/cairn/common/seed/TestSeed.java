package io.cairn.common.seed;

import java.util.Random;

/** The seed of a random test: given by {@code -Dcairn.test.seed=}, else drawn; always printed. */
public final class TestSeed {
    private TestSeed() {}

    public static long of(String test) {
        long seed = Long.getLong("cairn.test.seed", System.nanoTime());
        System.out.println(test + ": -Dcairn.test.seed=" + seed);
        return seed;
    }

    public static Random random(String test) {
        return new Random(of(test));
    }
}
