package io.cairn.fuse.op;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.Attr;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When pages count as those of the file. */
final class KernelCacheTest {
    private static final long FILE = 7;

    /** Shares its slot, by the multiplication that spreads inodes over them. */
    private static final long NEIGHBOUR = FILE + inverse() * (1L << 40);

    private final KernelCache cache = new KernelCache();

    /** Times this, the multiplier is 1; so what it multiplies lands in the low bits. */
    private static long inverse() {
        long odd = 0x9e3779b97f4a7c15L;
        long inverse = odd;
        for (int i = 0; i < 6; i++) {
            inverse *= 2 - odd * inverse;
        }
        return inverse;
    }

    private static Attr at(long change) {
        return at(FILE, change);
    }

    private static Attr at(long inode, long change) {
        return Attr.newBuilder().setInode(inode).setChange(change).build();
    }

    private void read(long change) {
        cache.pagesRead(at(change), cache.era(FILE));
    }

    private void own(long from, long to) {
        cache.changedHere(FILE, from, to);
    }

    private boolean valid(long change) {
        return cache.pagesAreOf(at(change));
    }

    @Test
    void pagesAreOfTheChangeTheyWereReadAt() {
        assertThat(valid(5)).isFalse();
        read(5);
        assertThat(valid(5)).isTrue();
        assertThat(valid(6)).isFalse();
    }

    @Test
    void attributesFromBeforeDoNotMakeThemOlder() {
        read(5);
        assertThat(valid(4)).isTrue();
    }

    @Test
    void theyFollowOwnChanges() {
        read(5);
        own(5, 6);
        own(6, 8);
        assertThat(valid(8)).isTrue();
        assertThat(valid(9)).isFalse();
    }

    @Test
    void theyFollowOwnChangesInWhateverOrderTheseAreHeardOf() {
        own(6, 7);
        own(5, 6);
        read(5);
        assertThat(valid(7)).isTrue();
    }

    @Test
    void theyDoNotFollowAChangeByAnother() {
        read(5);
        own(5, 6);
        own(7, 8);
        assertThat(valid(8)).isFalse();
        read(7);
        assertThat(valid(8)).isTrue();
    }

    /** Its answer comes late, when the next open has shown a change by another already. */
    @Test
    void anOwnChangeBehindThatOfAnotherIsNoBridge() {
        read(5);
        own(6, 7);
        assertThat(valid(7)).isFalse();
        own(4, 5);
        assertThat(valid(7)).isFalse();
        assertThat(valid(5)).isTrue();
    }

    @Test
    void aHandleOpenedEarlierDoesNotMakeThemOlder() {
        read(7);
        read(5);
        assertThat(valid(7)).isTrue();
        own(7, 8);
        assertThat(valid(8)).isTrue();
    }

    @Test
    void aWriteThroughAHandleIsKeptOverItsOwnPublication() {
        own(5, 6);
        read(5);
        assertThat(valid(6)).isTrue();
        own(6, 7);
        read(5);
        assertThat(valid(7)).isTrue();
    }

    @Test
    void changesCountWithoutSign() {
        read(-2);
        own(-2, -1);
        assertThat(valid(-1)).isTrue();
        assertThat(valid(5)).isTrue();
        read(5);
        assertThat(valid(-1)).isTrue();
    }

    @Test
    void theyEndWithAChangePastThem() {
        read(5);
        cache.broken(FILE);
        assertThat(valid(5)).isFalse();
        own(5, 6);
        assertThat(valid(6)).isFalse();
        read(6);
        assertThat(valid(6)).isTrue();
    }

    @Test
    void aHandleOfBeforeSaysNothingOfThemAfterwards() {
        long before = cache.era(FILE);
        cache.broken(FILE);
        cache.pagesRead(at(5), before);
        assertThat(valid(5)).isFalse();
        read(5);
        cache.pagesRead(at(6), before);
        assertThat(valid(6)).isFalse();
        assertThat(valid(5)).isTrue();
    }

    @Test
    void aFileInTheSameSlotTakesThePlace() {
        read(5);
        cache.pagesRead(at(NEIGHBOUR, 1), cache.era(NEIGHBOUR));
        assertThat(valid(5)).isFalse();
        assertThat(cache.pagesAreOf(at(NEIGHBOUR, 1))).isTrue();
        read(5);
        cache.changedHere(NEIGHBOUR, 5, 6);
        assertThat(valid(6)).isFalse();
    }

    @Test
    void nothingIsLeftOfAnEarlierSession() {
        long before = cache.era(FILE);
        read(5);
        cache.told(at(9, 1));
        List<Long> dropped = new ArrayList<>();
        cache.forget(dropped::add);
        assertThat(dropped).containsExactlyInAnyOrder(FILE, 9L);
        assertThat(valid(5)).isFalse();
        cache.pagesRead(at(5), before);
        assertThat(valid(5)).isFalse();
        assertThat(cache.knows(at(9, 1))).isFalse();
    }

    /**
     * A history of changes by this client and by others, of which the cache hears in any order, as
     * far as it hears of them at all: pages are never valid over a change by another.
     */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void noChangeByAnotherIsEverHidden(long seed) {
        Random random = new Random(seed);
        for (int round = 0; round < 200; round++) {
            KernelCache fresh = new KernelCache();
            int changes = 1 + random.nextInt(8);
            boolean[] byOther = new boolean[changes + 1];
            List<Integer> answers = new ArrayList<>();
            for (int to = 1; to <= changes; to++) {
                byOther[to] = random.nextInt(3) == 0;
                if (!byOther[to] && random.nextInt(8) > 0) {
                    answers.add(random.nextInt(answers.size() + 1), to);
                }
            }
            int pages = -1;
            for (int step = 0; step < 12; step++) {
                if (random.nextBoolean() && !answers.isEmpty()) {
                    int to = answers.removeLast();
                    fresh.changedHere(FILE, to - 1, to);
                } else if (random.nextInt(4) == 0) {
                    int read = random.nextInt(changes + 1);
                    fresh.pagesRead(at(read), fresh.era(FILE));
                    pages = Math.max(pages, read);
                }
                int opened = random.nextInt(changes + 1);
                if (fresh.pagesAreOf(at(opened))) {
                    assertThat(pages).isNotNegative();
                    for (int to = pages + 1; to <= opened; to++) {
                        assertThat(byOther[to]).as("seed %d, round %d", seed, round).isFalse();
                    }
                }
            }
        }
    }
}
