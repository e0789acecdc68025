package io.cairn.mds.lease;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

final class LeaseTableTest {
    private static final long KEY = LeaseTable.attributes(7);

    private final LeaseTable table = new LeaseTable(1000);

    @Test
    void holdersAreThoseWhoseTimeIsNotOver() {
        assertThat(add(KEY, 1, 100, 0)).isTrue();
        assertThat(add(KEY, 2, 200, 0)).isTrue();
        assertThat(holders(KEY, 99)).isEqualTo(Map.of(1L, 100L, 2L, 200L));
        assertThat(holders(KEY, 100)).isEqualTo(Map.of(2L, 200L));
        assertThat(table.size()).isEqualTo(1);
        assertThat(holders(KEY, 200)).isEmpty();
        assertThat(table.size()).isZero();
    }

    @Test
    void namesAndAttributesOfAnInodeAreTwoThings() {
        add(LeaseTable.names(7), 1, 100, 0);
        assertThat(holders(KEY, 0)).isEmpty();
        assertThat(holders(LeaseTable.names(7), 0)).containsOnlyKeys(1L);
    }

    @Test
    void aLeaseIsRenewedAndNeverShortened() {
        add(KEY, 1, 100, 0);
        add(KEY, 1, 300, 0);
        add(KEY, 1, 200, 0);
        table.addInAnyCase(KEY, 1, 250);
        assertThat(holders(KEY, 0)).isEqualTo(Map.of(1L, 300L));
        assertThat(table.size()).isEqualTo(1);
    }

    @Test
    void whatIsNotAllowedLeavesNothing() {
        assertThat(table.add(KEY, 1, 100, 0, () -> false)).isFalse();
        assertThat(table.size()).isZero();
        add(KEY, 1, 100, 0);
        assertThat(table.add(KEY, 1, 200, 0, () -> false)).isFalse();
        assertThat(holders(KEY, 0)).isEqualTo(Map.of(1L, 100L));
        assertThat(table.size()).isEqualTo(1);
    }

    @Test
    void whoChangesAKeySeesThatThereIsALeaseWhenItIsAllowed() {
        assertThat(table.add(KEY, 1, 100, 0, () -> table.size() > 0)).isTrue();
    }

    @Test
    void thereIsAnEndToTheHoldersOfAKey() {
        for (int i = 1; i <= LeaseTable.MAX_HOLDERS; i++) {
            assertThat(add(KEY, i, 100 + i, 0)).isTrue();
        }
        assertThat(add(KEY, 999, 500, 0)).isFalse();
        assertThat(add(KEY, 1, 500, 0)).as("who holds it renews it").isTrue();
        table.addInAnyCase(KEY, 1000, 500);
        assertThat(holders(KEY, 0)).hasSize(LeaseTable.MAX_HOLDERS + 1).containsKey(1000L);
        assertThat(add(KEY, 999, 500, 150)).as("others' time is over").isTrue();
    }

    @Test
    void thereIsAnEndToAllLeases() {
        LeaseTable small = new LeaseTable(2);
        assertThat(small.add(2, 1, 100, 0, () -> true)).isTrue();
        assertThat(small.add(4, 1, 100, 0, () -> true)).isTrue();
        assertThat(small.add(6, 1, 100, 0, () -> true)).isFalse();
        assertThat(small.add(4, 1, 200, 0, () -> true)).isTrue();
        sweep(small, 100);
        assertThat(small.add(6, 1, 300, 100, () -> true)).isTrue();
    }

    @Test
    void whatIsOverIsSwept() {
        for (int key = 0; key < 500; key++) {
            add(key, 1, 100 + key, 0);
            add(key, 2, 50, 0);
        }
        sweep(table, 350);
        assertThat(table.size()).isEqualTo(249);
    }

    @Test
    void aSessionThatIsGoneHoldsNothing() {
        for (int key = 0; key < 300; key++) {
            add(key, 1, 100, 0);
            add(key, 2 + key % 2, 100, 0);
        }
        table.removeSession(1);
        assertThat(table.size()).isEqualTo(300);
        assertThat(holders(4, 0)).containsOnlyKeys(2L);
        table.remove(4);
        assertThat(holders(4, 0)).isEmpty();
        assertThat(table.size()).isEqualTo(299);
        table.clear();
        assertThat(table.size()).isZero();
        assertThat(holders(5, 0)).isEmpty();
    }

    private static void sweep(LeaseTable table, long now) {
        for (int i = 0; i < 4; i++) {
            table.sweep(now);
        }
    }

    private boolean add(long key, long session, long until, long now) {
        return table.add(key, session, until, now, () -> true);
    }

    private Map<Long, Long> holders(long key, long now) {
        Map<Long, Long> found = new TreeMap<>();
        table.visit(key, now, found::put);
        return found;
    }
}
