package io.cairn.system.history;

import static io.cairn.system.history.LinearizabilityTest.operation;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.history.Linearizability.Verdict;
import io.cairn.system.history.Operation.Action;
import io.cairn.system.history.Operation.Outcome;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class NameSetsTest {
    private final List<Operation> history = new ArrayList<>();

    private void did(Action action, String name, String result, long from, long to) {
        history.add(operation(action, name, Outcome.OK, result, from, to));
    }

    private void mayHave(Action action, String name, long from) {
        history.add(operation(action, name, Outcome.UNKNOWN, "EIO", from, Operation.NEVER));
    }

    private void listed(String names, long from, long to) {
        history.add(operation(Action.LIST, "", Outcome.OK, names, from, to));
    }

    private void assertPossible() {
        assertThat(NameSets.check(history).values())
                .allMatch(v -> v instanceof Verdict.Linearizable);
    }

    private void assertImpossible() {
        assertThat(NameSets.check(history).values())
                .anyMatch(v -> v instanceof Verdict.Contradiction);
    }

    @Test
    void whatIsAddedIsThereUntilItIsRemoved() {
        listed("", 1, 2);
        did(Action.ADD, "x", NameSets.DONE, 3, 4);
        did(Action.ADD, "x", NameSets.THERE, 5, 6);
        listed("x", 7, 8);
        did(Action.REMOVE, "x", NameSets.DONE, 9, 10);
        did(Action.REMOVE, "x", NameSets.ABSENT, 11, 12);
        did(Action.CONTAINS, "x", NameSets.ABSENT, 13, 14);
        assertPossible();
        listed("x", 15, 16);
        assertImpossible();
    }

    /** As when a retry is executed again. */
    @Test
    void anAddThatFindsItselfIsFound() {
        did(Action.ADD, "x", NameSets.THERE, 1, 2);
        assertImpossible();
    }

    @Test
    void twoCannotBothAddOrRemove() {
        did(Action.ADD, "x", NameSets.DONE, 1, 10);
        did(Action.ADD, "x", NameSets.DONE, 1, 10);
        assertImpossible();
        mayHave(Action.REMOVE, "x", 5);
        assertPossible();
    }

    @Test
    void whatMayHaveBeenDoneIsDoneOnceAtMost() {
        mayHave(Action.ADD, "x", 1);
        did(Action.REMOVE, "x", NameSets.DONE, 2, 3);
        did(Action.CONTAINS, "x", NameSets.ABSENT, 4, 5);
        assertPossible();
        did(Action.CONTAINS, "x", NameSets.THERE, 6, 7);
        assertImpossible();
    }

    @Test
    void aListIsNoPictureOfOneMoment() {
        did(Action.ADD, "x", NameSets.DONE, 1, 2);
        did(Action.ADD, "y", NameSets.DONE, 11, 12);
        did(Action.REMOVE, "x", NameSets.DONE, 13, 14);
        listed("", 10, 20);
        listed("x,y", 10, 20);
        listed("x", 10, 20);
        listed("y", 10, 20);
        assertPossible();
    }

    /** Removed and added again it has another place. */
    @Test
    void aListHasANameTwiceOnlyIfItWasAddedMeanwhile() {
        did(Action.ADD, "x", NameSets.DONE, 1, 2);
        did(Action.REMOVE, "x", NameSets.DONE, 11, 12);
        did(Action.ADD, "x", NameSets.DONE, 13, 14);
        listed("x,x", 10, 15);
        assertPossible();
        listed("x,x", 16, 17);
        assertImpossible();
    }

    @Test
    void aListHasWhatIsThereAllTheTime() {
        did(Action.ADD, "x", NameSets.DONE, 1, 2);
        did(Action.ADD, "y", NameSets.DONE, 1, 2);
        listed("y", 3, 4);
        assertImpossible();
    }
}
