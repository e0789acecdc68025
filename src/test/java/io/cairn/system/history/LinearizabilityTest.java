package io.cairn.system.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.history.Linearizability.Verdict;
import io.cairn.system.history.Operation.Action;
import io.cairn.system.history.Operation.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LinearizabilityTest {
    private final List<Operation> history = new ArrayList<>();

    private void write(String value, long from, long to) {
        history.add(operation(Action.WRITE, value, Outcome.OK, "", from, to));
    }

    private void maybeWrite(String value, long from) {
        history.add(operation(Action.WRITE, value, Outcome.UNKNOWN, "EIO", from, Operation.NEVER));
    }

    private void read(String value, long from, long to) {
        history.add(operation(Action.READ, "", Outcome.OK, value, from, to));
    }

    static Operation operation(
            Action action, String argument, Outcome outcome, String result, long from, long to) {
        return new Operation("a/0", "o/0", action, argument, outcome, result, from, to);
    }

    private void assertPossible() {
        assertThat(Registers.linearizable("0", history)).isInstanceOf(Verdict.Linearizable.class);
    }

    private void assertImpossible() {
        assertThat(Registers.linearizable("0", history)).isInstanceOf(Verdict.Contradiction.class);
    }

    @Test
    void nothingAndAReadOfTheFirstValueArePossible() {
        assertPossible();
        read("0", 1, 2);
        assertPossible();
    }

    @Test
    void aValueNobodyWroteIsNot() {
        read("1", 1, 2);
        assertImpossible();
    }

    @Test
    void aReadBesideAWriteMayShowEither() {
        write("1", 1, 10);
        read("0", 2, 3);
        read("1", 4, 5);
        assertPossible();
    }

    @Test
    void theOldValueAfterTheNewOneIsNot() {
        write("1", 1, 10);
        read("1", 2, 3);
        read("0", 4, 5);
        assertImpossible();
    }

    @Test
    void aLostWriteIsFound() {
        write("1", 1, 2);
        read("0", 3, 4);
        assertImpossible();
    }

    @Test
    void aValueFromBeforeIsFound() {
        write("1", 1, 2);
        write("2", 3, 4);
        read("2", 5, 6);
        read("1", 7, 8);
        assertImpossible();
    }

    @Test
    void concurrentWritesHaveOneOrderForAllReaders() {
        write("1", 1, 10);
        write("2", 1, 10);
        read("1", 11, 12);
        assertPossible();
        read("2", 13, 14);
        assertImpossible();
    }

    @Test
    void aWriteOfUnknownOutcomeMayTakeEffectLateOrNever() {
        maybeWrite("1", 1);
        write("2", 2, 3);
        read("2", 4, 5);
        assertPossible();
        read("1", 6, 7);
        assertPossible();
        read("2", 8, 9);
        assertImpossible();
    }

    @Test
    void nothingTakesEffectBeforeItBegins() {
        read("1", 1, 2);
        maybeWrite("1", 3);
        assertImpossible();
    }

    @Test
    void whatFailedHasNoEffect() {
        history.add(operation(Action.WRITE, "1", Outcome.FAILED, "ENOSPC", 1, 2));
        read("0", 3, 4);
        assertPossible();
        read("1", 5, 6);
        assertImpossible();
    }

    @Test
    void theVerdictSaysWhatCannotBePlaced() {
        write("1", 1, 2);
        read("0", 3, 4);
        assertThat(Registers.linearizable("0", history))
                .isInstanceOfSatisfying(
                        Verdict.Contradiction.class,
                        c ->
                                assertThat(c.text())
                                        .startsWith("cannot be placed: ")
                                        .contains("READ  -> OK 0")
                                        .contains("WRITE 1 -> OK"));
    }

    private void read(String mount, String value, long from, long to) {
        history.add(
                new Operation(mount + "/1", "o/0", Action.READ, "", Outcome.OK, value, from, to));
    }

    @Test
    void aMountShowsItsOwnWriteBeforeTheServersHaveIt() {
        write("1", 10, 30);
        read("a", "1", 11, 12);
        history.add(new Operation("b/0", "o/0", Action.WRITE, "2", Outcome.OK, "", 15, 16));
        read("a", "1", 31, 32);
        assertThat(Registers.closedToOpen("0", history)).isInstanceOf(Verdict.Linearizable.class);
        read("b", "1", 11, 12);
        assertThat(Registers.closedToOpen("0", history)).isInstanceOf(Verdict.Contradiction.class);
    }

    @Test
    void closedToOpenAllowsTheOldValueDuringAWriteOnly() {
        write("1", 10, 20);
        read("b", "1", 11, 12);
        read("b", "0", 13, 14);
        assertImpossible();
        assertThat(Registers.closedToOpen("0", history)).isInstanceOf(Verdict.Linearizable.class);
        read("0", 21, 22);
        assertThat(Registers.closedToOpen("0", history)).isInstanceOf(Verdict.Contradiction.class);
    }

    @Test
    void closedToOpenHasOneOrderOfWritesThatAreClosed() {
        write("1", 10, 20);
        write("2", 10, 20);
        read("1", 21, 22);
        read("2", 23, 24);
        assertThat(Registers.closedToOpen("0", history)).isInstanceOf(Verdict.Contradiction.class);
    }

    @Test
    void closedToOpenShowsNothingBeforeItIsWritten() {
        read("1", 1, 2);
        write("1", 3, 4);
        assertThat(Registers.closedToOpen("0", history)).isInstanceOf(Verdict.Contradiction.class);
    }

    /** A real register with eight clients: possible, until one read in the middle is old. */
    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS)
    void longHistoriesAreDecided() {
        long seed = TestSeed.of("LinearizabilityTest");
        Random random = new Random(seed);
        String state = "0";
        String old = "";
        long[] free = new long[8];
        for (int i = 1; i <= 20_000; i++) {
            long moment = 10L * i;
            int client = random.nextInt(free.length);
            if (free[client] >= moment) {
                continue;
            }
            long from = Math.max(free[client] + 1, moment - random.nextInt(60));
            long to = moment + random.nextInt(60);
            free[client] = to;
            boolean write = random.nextInt(3) == 0;
            if (write && random.nextInt(20) == 0) {
                maybeWrite("" + i, from);
                state = random.nextBoolean() ? "" + i : state;
            } else if (write) {
                write("" + i, from, to);
                state = "" + i;
            } else {
                read(state, from, to);
            }
            if (i == 10_000) {
                old = state;
            }
        }
        assertPossible();
        long late = 10L * 19_000;
        read(old, late, late + 1);
        assertImpossible();
    }
}
