package io.cairn.mds.session;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class MutationOrderTest {
    private final List<String> submitted = new ArrayList<>();
    private final List<String> refused = new ArrayList<>();
    private long lastExecuted;
    private final MutationOrder<String> order =
            new MutationOrder<>(submitted::add, refused::add, () -> lastExecuted);

    @Test
    void whatComesEarlyWaitsForWhatIsBeforeIt() {
        order.arrived("3-4", 3, 5, 0);
        order.arrived("5", 5, 6, 0);
        assertThat(submitted).isEmpty();
        order.arrived("1-2", 1, 3, 0);
        assertThat(submitted).containsExactly("1-2", "3-4", "5");
    }

    @Test
    void aSessionGoesOnFromWhereTheStateStands() {
        lastExecuted = 41;
        order.arrived("43", 43, 44, 0);
        order.arrived("42", 42, 43, 0);
        assertThat(submitted).containsExactly("42", "43");
    }

    @Test
    void repetitionsGoOnAtOnce() {
        order.arrived("1", 1, 2, 0);
        order.arrived("1 again", 1, 2, 0);
        order.arrived("1-2", 1, 3, 0);
        order.arrived("3", 3, 4, 0);
        assertThat(submitted).containsExactly("1", "1 again", "1-2", "3");
    }

    @Test
    void afterAFailureNothingGoesOnUntilAllUnderWayHasEnded() {
        order.arrived("1", 1, 2, 0);
        order.arrived("2", 2, 3, 0);
        assertThat(order.ended(false)).isFalse();
        order.arrived("3", 3, 4, 0);
        order.arrived("1 again", 1, 2, 0);
        assertThat(submitted).containsExactly("1", "2");
        assertThat(order.ended(false)).isTrue();
        order.resume();
        assertThat(submitted).containsExactly("1", "2", "1 again");
        order.arrived("2 again", 2, 3, 0);
        assertThat(submitted).containsExactly("1", "2", "1 again", "2 again", "3");
    }

    @Test
    void whatWaitsTooLongIsRefused() {
        order.arrived("5", 5, 6, 100);
        order.arrived("6", 6, 7, 200);
        order.expire(150);
        assertThat(refused).containsExactly("5");
        assertThat(order.waiting()).isEqualTo(1);
    }

    @Test
    void whenItIsClosedWhatWaitsIsGivenBackAndNothingIsTakenAnyMore() {
        List<String> givenBack = new ArrayList<>();
        order.arrived("1", 1, 2, 0);
        order.arrived("3", 3, 4, 0);
        order.arrived("4", 4, 5, 0);
        order.close(givenBack::add);
        assertThat(givenBack).containsExactly("3", "4");
        assertThat(order.waiting()).isZero();
        order.arrived("2", 2, 3, 0);
        assertThat(refused).containsExactly("2");
        assertThat(order.ended(false)).as("nothing to resume").isFalse();
        order.resume();
        order.close(givenBack::add);
        assertThat(submitted).containsExactly("1");
        assertThat(givenBack).hasSize(2);
    }

    @Test
    void notTooMuchWaits() {
        for (int i = 0; i < MutationOrder.MAX_WAITING; i++) {
            order.arrived("w" + i, 10 + i, 11 + i, 0);
        }
        order.arrived("one more", 9, 10, 0);
        assertThat(refused).containsExactly("one more");
    }

    @Test
    void aRepetitionOfWhatWaitsReplacesIt() {
        order.arrived("2", 2, 3, 0);
        order.arrived("2 again", 2, 3, 1);
        assertThat(refused).containsExactly("2");
        order.arrived("1", 1, 2, 1);
        assertThat(submitted).containsExactly("1", "2 again");
    }
}
