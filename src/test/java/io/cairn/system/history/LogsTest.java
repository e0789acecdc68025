package io.cairn.system.history;

import static io.cairn.system.history.LinearizabilityTest.operation;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.history.Operation.Action;
import io.cairn.system.history.Operation.Outcome;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LogsTest {
    private final List<Operation> history = new ArrayList<>();

    private void synced(String record, long from, long to) {
        history.add(operation(Action.APPEND_SYNC, record, Outcome.OK, "", from, to));
    }

    private void appended(String record, long from, long to) {
        history.add(operation(Action.APPEND, record, Outcome.OK, "", from, to));
    }

    private void maybe(String record, long from) {
        history.add(
                operation(
                        Action.APPEND_SYNC, record, Outcome.UNKNOWN, "EIO", from, Operation.NEVER));
    }

    private void read(List<String> records, long from, long to) {
        history.add(operation(Action.READ, "", Outcome.OK, Logs.picture(records), from, to));
    }

    private List<String> check(String... end) {
        return Logs.check(history, List.of(end), _ -> true);
    }

    @Test
    void recordsStandInTheOrderOfTime() {
        synced("a:1", 1, 10);
        synced("b:1", 5, 15);
        synced("a:2", 11, 20);
        assertThat(check("a:1", "b:1", "a:2")).isEmpty();
        assertThat(check("b:1", "a:1", "a:2")).isEmpty();
        assertThat(check("a:1", "a:2", "b:1")).isEmpty();
        assertThat(check("a:2", "a:1", "b:1")).singleElement().asString().contains("wrong order");
    }

    @Test
    void lossesDoublesAndStrangersAreFound() {
        synced("a:1", 1, 2);
        assertThat(check()).singleElement().asString().startsWith("lost: ");
        assertThat(check("a:1", "a:1")).singleElement().asString().startsWith("twice: ");
        assertThat(check("a:1", "x:1")).singleElement().asString().startsWith("nobody appended");
    }

    @Test
    void whatMayHaveBeenAppendedIsThereOnceOrNot() {
        maybe("a:1", 1);
        synced("b:1", 5, 6);
        assertThat(check("b:1")).isEmpty();
        assertThat(check("a:1", "b:1")).isEmpty();
        assertThat(check("b:1", "a:1")).isEmpty();
        assertThat(check("a:1", "b:1", "a:1")).singleElement().asString().startsWith("twice: ");
    }

    @Test
    void whatWasNotSyncedMayBeLostUntilItsWriterSyncs() {
        appended("a/0/1:1", 1, 2);
        appended("a/0/2:2", 3, 4);
        assertThat(check()).isEmpty();
        synced("a/0/2:3", 5, 6);
        assertThat(check("a/0/2:2", "a/0/2:3")).isEmpty();
        assertThat(check("a/0/2:3")).singleElement().asString().startsWith("lost: ");
    }

    @Test
    void aReadShowsABeginningWithAllThatWasDurable() {
        synced("a:1", 1, 2);
        synced("b:1", 5, 6);
        read(List.of("a:1"), 3, 4);
        read(List.of("a:1"), 5, 7);
        read(List.of("a:1", "b:1"), 5, 7);
        assertThat(check("a:1", "b:1")).isEmpty();
        read(List.of(), 3, 4);
        assertThat(check("a:1", "b:1")).singleElement().asString().startsWith("not shown: ");
    }

    @Test
    void aReadShowsNothingElse() {
        synced("a:1", 1, 2);
        synced("b:1", 5, 6);
        read(List.of("a:1", "b:1"), 3, 4);
        assertThat(check("a:1", "b:1")).singleElement().asString().startsWith("shown before");
        history.removeLast();
        read(List.of("b:1"), 7, 8);
        assertThat(check("a:1", "b:1")).singleElement().asString().startsWith("not a beginning");
        assertThat(Logs.check(history, List.of("a:1", "b:1"), _ -> false)).isEmpty();
    }
}
