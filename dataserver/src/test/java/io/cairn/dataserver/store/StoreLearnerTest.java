package io.cairn.dataserver.store;

import io.cairn.common.seed.TestSeed;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A learner that missed a part of the history has what its source has in the end, whatever was done
 * meanwhile and wherever it crashed. {@code -Dcairn.test.seed} repeats one run, {@code
 * -Dcairn.test.runs} does more of them.
 */
class StoreLearnerTest {
    private static final int RUNS = Integer.getInteger("cairn.test.runs", 12);

    private static final int STRIDE = Integer.getInteger("cairn.test.stride", 13);
    private static final int CALLS = 120;

    @TempDir Path directory;

    private interface Course {
        void run(LearnerPair pair) throws Exception;
    }

    @Test
    void hasWhatTheSourceHas() throws Exception {
        runs(pair -> learn(pair, 0));
    }

    @Test
    void startsAnewAfterCrashes() throws Exception {
        runs(pair -> learn(pair, 1 + pair.random.nextInt(250)));
    }

    /** {@code -Dcairn.test.stride=1} tries every call; a larger one tries others at each run. */
    @Test
    void startsAnewAfterACrashAtEveryDeviceCall() throws Exception {
        long seed = TestSeed.of("StoreLearnerTest");
        int first = 1 + Math.floorMod(seed, STRIDE);
        for (int call = first; call < CALLS; call += STRIDE) {
            Path dir = Files.createDirectory(directory.resolve("call-" + call));
            try (LearnerPair pair = new LearnerPair(dir, seed)) {
                learn(pair, call);
            } catch (AssertionError | Exception e) {
                throw new AssertionError(
                        "power cut at call %d; repeat with -Dcairn.test.seed=%d"
                                .formatted(call, seed),
                        e);
            }
        }
    }

    @Test
    void hasWhatTheSourceHasAfterItWasDiscarded() throws Exception {
        runs(pair -> learn(pair, 0, true));
    }

    @Test
    void startsAnewAfterCrashesWhileItWasDiscarded() throws Exception {
        runs(pair -> learn(pair, 1 + pair.random.nextInt(250), true));
    }

    private void runs(Course course) throws Exception {
        for (long seed : TestSeed.several("StoreLearnerTest", RUNS).toArray()) {
            Path dir = Files.createDirectory(directory.resolve("run-" + seed));
            try (LearnerPair pair = new LearnerPair(dir, seed)) {
                course.run(pair);
            } catch (AssertionError | Exception e) {
                throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
            }
        }
    }

    /**
     * @param cut the call to the learner's devices at which its power is cut, 0 for none
     */
    static void learn(LearnerPair pair, int cut) throws Exception {
        learn(pair, cut, false);
    }

    private static void learn(LearnerPair pair, int cut, boolean discarded) throws Exception {
        if (pair.random.nextBoolean()) {
            pair.source.crowd();
        }
        pair.begin(pair.random.nextInt(120));
        pair.miss(1 + pair.random.nextInt(150));
        if (cut > 0) {
            pair.learner.devices.cutPowerIn(cut);
        }
        boolean alive =
                (!discarded || pair.discard())
                        && pair.reset()
                        && pair.copyAll()
                        && pair.complete()
                        && pair.staysAlive();
        for (int again = 0; !alive; again++) {
            pair.crashAndRecover();
            pair.checkInvariants();
            if (again < 3 && pair.random.nextBoolean()) {
                pair.learner.devices.cutPowerIn(1 + pair.random.nextInt(60));
            }
            alive = pair.goOn() && pair.copyAll() && pair.complete() && pair.staysAlive();
        }
        pair.follow();
        pair.compareAll();
        pair.checkInvariants();
        pair.compareAll();
        pair.crashAndRecover();
        pair.follow();
        pair.compareAll();
        pair.checkInvariants();
        pair.compareAll();
    }
}
