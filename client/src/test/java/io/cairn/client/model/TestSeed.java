package io.cairn.client.model;

import java.util.Random;

/** The seed of a random test: given by {@code -Dcairn.test.seed=}, else drawn and printed. */
public final class TestSeed {
    private TestSeed() {}

    public static Random random(String test) {
        long seed = Long.getLong("cairn.test.seed", System.nanoTime());
        System.out.println(test + ": -Dcairn.test.seed=" + seed);
        return new Random(seed);
    }
}
