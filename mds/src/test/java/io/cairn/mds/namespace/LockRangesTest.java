package io.cairn.mds.namespace;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.FileLock;
import io.cairn.common.seed.TestSeed;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Ranges split, merge and replace each other, against a model that knows each byte. */
final class LockRangesTest {
    private static final int BYTES = 24;

    /** What stands for all bytes from {@link #BYTES} on. */
    private static final long LAST = LockRanges.MAX_END;

    private record Owner(boolean flock, long session, long owner) {}

    /**
     * For each owner and byte 0: none, 1: shared, 2: exclusive; the last byte stands for the rest.
     */
    private final Map<Owner, int[]> model = new HashMap<>();

    private static FileLock lock(long session, long owner, boolean exclusive, long from, long to) {
        return FileLock.newBuilder()
                .setInode(9)
                .setSession(session)
                .setOwner(owner)
                .setExclusive(exclusive)
                .setStart(from)
                .setEnd(to)
                .build();
    }

    @Test
    void aRangeInTheMiddleSplitsAndWhatIsAlikeJoins() {
        List<FileLock> held = LockRanges.with(List.of(), lock(1, 1, true, 0, LAST));
        held = LockRanges.without(held, lock(1, 1, false, 10, 19));
        assertThat(held).containsExactly(lock(1, 1, true, 0, 9), lock(1, 1, true, 20, LAST));
        held = LockRanges.with(held, lock(1, 1, false, 15, 15));
        assertThat(held)
                .containsExactly(
                        lock(1, 1, true, 0, 9),
                        lock(1, 1, false, 15, 15),
                        lock(1, 1, true, 20, LAST));
        held = LockRanges.with(held, lock(1, 1, true, 10, 19));
        assertThat(held).containsExactly(lock(1, 1, true, 0, LAST));
        held = LockRanges.with(held, lock(1, 1, false, 5, LAST));
        assertThat(held).containsExactly(lock(1, 1, true, 0, 4), lock(1, 1, false, 5, LAST));
    }

    @Test
    void anotherOwnerIsInTheWayOfWhatIsExclusive() {
        List<FileLock> held = LockRanges.with(List.of(), lock(1, 1, false, 10, 19));
        assertThat(LockRanges.inTheWay(held, lock(2, 1, false, 0, LAST))).isNull();
        assertThat(LockRanges.inTheWay(held, lock(2, 1, true, 0, 9))).isNull();
        assertThat(LockRanges.inTheWay(held, lock(2, 1, true, 20, LAST))).isNull();
        assertThat(LockRanges.inTheWay(held, lock(1, 1, true, 0, LAST))).isNull();
        assertThat(LockRanges.inTheWay(held, lock(2, 1, true, 19, LAST))).isEqualTo(held.get(0));
        assertThat(LockRanges.inTheWay(held, lock(1, 2, true, 0, 10))).isEqualTo(held.get(0));
        FileLock flock = lock(2, 1, true, 0, LAST).toBuilder().setFlock(true).build();
        assertThat(LockRanges.inTheWay(held, flock)).as("of another world").isNull();
    }

    @Test
    void randomRangesAreThoseOfEachByte() {
        long seed = TestSeed.of("LockRangesTest");
        Random random = new Random(seed);
        for (int round = 0; round < 300; round++) {
            model.clear();
            List<FileLock> held = List.of();
            for (int step = 0; step < 100; step++) {
                held = step(random, held);
                assertThat(held).as("seed %d round %d", seed, round).isEqualTo(expected());
            }
        }
    }

    private List<FileLock> step(Random random, List<FileLock> held) {
        boolean flock = random.nextInt(6) == 0;
        int from = flock ? 0 : random.nextInt(BYTES);
        int to = flock || random.nextInt(4) == 0 ? BYTES : from + random.nextInt(BYTES - from);
        boolean exclusive = random.nextBoolean();
        FileLock wanted =
                lock(
                                1 + random.nextInt(2),
                                1 + random.nextInt(2),
                                exclusive,
                                from,
                                to == BYTES ? LAST : to)
                        .toBuilder()
                        .setFlock(flock)
                        .build();
        Owner owner = new Owner(flock, wanted.getSession(), wanted.getOwner());
        boolean free = LockRanges.inTheWay(held, wanted) == null;
        boolean unlock = random.nextInt(3) == 0;
        if (!unlock) {
            assertThat(free).isEqualTo(isFree(owner, exclusive, from, to));
        }
        int[] own = model.computeIfAbsent(owner, o -> new int[BYTES + 1]);
        if (unlock || free) {
            for (int i = from; i <= to; i++) {
                own[i] = unlock ? 0 : exclusive ? 2 : 1;
            }
        }
        return unlock
                ? LockRanges.without(held, wanted)
                : free ? LockRanges.with(held, wanted) : held;
    }

    private boolean isFree(Owner owner, boolean exclusive, int from, int to) {
        for (Map.Entry<Owner, int[]> other : model.entrySet()) {
            if (other.getKey().equals(owner) || other.getKey().flock() != owner.flock()) {
                continue;
            }
            for (int i = from; i <= to; i++) {
                int has = other.getValue()[i];
                if (has == 2 || (has == 1 && exclusive)) {
                    return false;
                }
            }
        }
        return true;
    }

    private List<FileLock> expected() {
        List<FileLock> all = new ArrayList<>();
        model.forEach((owner, bytes) -> {
            for (int i = 0; i <= BYTES; i++) {
                if (bytes[i] == 0) {
                    continue;
                }
                int first = i;
                while (i < BYTES && bytes[i + 1] == bytes[first]) {
                    i++;
                }
                all.add(
                        lock(
                                        owner.session(),
                                        owner.owner(),
                                        bytes[first] == 2,
                                        first,
                                        i == BYTES ? LAST : i)
                                .toBuilder()
                                .setFlock(owner.flock())
                                .build());
            }
        });
        all.sort(
                Comparator.comparing(FileLock::getFlock)
                        .thenComparingLong(FileLock::getStart)
                        .thenComparingLong(FileLock::getSession)
                        .thenComparingLong(FileLock::getOwner));
        return all;
    }
}
