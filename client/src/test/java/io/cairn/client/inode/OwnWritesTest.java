package io.cairn.client.inode;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.inode.OwnWrites.Promise;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is published of writes that were answered before they are durable. */
final class OwnWritesTest {
    private static final long INODE = 7;

    private final OwnWrites own = new OwnWrites(INODE);
    private long now = 1_000;

    @Test
    void aPromisedSizeIsShownAndNotPublished() {
        Promise promise = promise(10);
        assertThat(own.size()).isEqualTo(10);
        assertThat(own.mergedInto(Attr.newBuilder().setSize(3).build()).getSize()).isEqualTo(10);
        GrowOp times = taken(0);
        assertThat(times.getSize()).isZero();
        assertThat(times.hasMtime()).isTrue();
        own.grown();
        assertThat(own.landed(promise, 10)).isTrue();
        GrowOp grow = taken(0);
        assertThat(grow.getSize()).isEqualTo(10);
        assertThat(grow.hasMtime()).as("its time was told before").isFalse();
        assertThat(grow.getKeepsTimes()).isTrue();
    }

    @Test
    void noSizeBeyondBytesOnTheirWay() {
        Promise first = promise(10);
        Promise second = promise(20);
        Promise third = promise(30);
        own.landed(third, 30);
        assertThat(taken(0).getSize()).as("all of it would be a hole").isZero();
        own.landed(first, 10);
        assertThat(taken(0).getSize()).as("the second is on its way").isEqualTo(10);
        assertThat(take(10)).as("nothing more to tell").isNull();
        own.landed(second, 20);
        assertThat(taken(10).getSize()).isEqualTo(30);
    }

    @Test
    void overwritingHoldsNoSizeBack() {
        own.landed(promise(20), 20);
        Promise over = promise(5);
        assertThat(taken(0).getSize()).isEqualTo(20);
        own.landed(over, 5);
        assertThat(own.promises()).isFalse();
    }

    @Test
    void aTimeThatIsSetStandsThoughTheDataComesLater() {
        Promise promise = promise(10);
        own.set(SetAttrOp.newBuilder().setMtime(time(5)).build(), own.count());
        own.landed(promise, 10);
        GrowOp grow = taken(0);
        assertThat(grow.hasMtime()).isFalse();
        assertThat(grow.getKeepsTimes()).isTrue();
    }

    /** An xattr was set after the write, and is at the MDS already: there, that is the order. */
    @Test
    void whatWillBeToldLaterIsShownAsTheMdsWillHaveIt() {
        own.landed(promise(5), 5);
        Attr known = Attr.newBuilder().setMtime(nanos(0)).setCtime(nanos(now + 7)).build();
        Attr shown = own.mergedInto(known);
        assertThat(shown.getMtime()).isEqualTo(nanos(now));
        assertThat(shown.getCtime()).isEqualTo(nanos(now + 8));
        taken(0);
        assertThat(own.mergedInto(known).getCtime())
                .as("may be that of the answer")
                .isEqualTo(nanos(now + 7));
    }

    private static Timespec nanos(long nanos) {
        return Timespec.newBuilder().setNanos((int) nanos).build();
    }

    @Test
    void aWriteWithoutPromiseTellsItsTime() {
        own.wrote(10, now, false);
        GrowOp grow = taken(0);
        assertThat(grow.hasMtime()).isTrue();
        assertThat(grow.getKeepsTimes()).isFalse();
    }

    @Test
    void aBrokenPromiseTakesItsSizeAlong() {
        Promise kept = promise(10);
        Promise broken = promise(20);
        own.landed(kept, 10);
        assertThat(own.brokenOff(broken)).isFalse(); // it is listed
        assertThat(own.size()).isEqualTo(10);
        assertThat(taken(0).getSize()).isEqualTo(10);
    }

    @Test
    void afterATruncationNothingIsTakenForKnown() {
        Promise old = promise(100);
        own.sizeSet();
        Promise later = promise(10);
        own.landed(later, 10);
        assertThat(taken(0).getSize()).isZero();
        own.landed(old, 100);
        assertThat(taken(0).getSize()).isEqualTo(100);
    }

    /** Who waits for what is durable is not held up by what comes after it. */
    @Test
    void whatSomebodyWaitsForIsPublishedInFull() {
        own.landed(promise(10), 10);
        own.sizeSet();
        Promise before = promise(20);
        own.sizeSet();
        own.landed(promise(30), 30);
        assertThat(taken(0).getSize()).isZero();
        GrowOp awaited = own.take(0, 0, false, false, true);
        assertThat(awaited == null ? 0 : awaited.getSize()).isEqualTo(30);
        own.landed(before, 20);
    }

    /** Whatever lands in whatever order: a published size has all bytes written below it. */
    @Test
    void random() {
        long seed = Long.getLong("cairn.test.seed", System.nanoTime());
        System.out.println("OwnWritesTest: -Dcairn.test.seed=" + seed);
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 2_000; round++) {
            randomRound(random);
        }
    }

    /** Sequential writes of one byte each, so that the written size is their count. */
    private void randomRound(SplittableRandom random) {
        OwnWrites writes = new OwnWrites(INODE);
        List<Promise> open = new ArrayList<>();
        List<Long> ends = new ArrayList<>();
        long end = 0;
        long known = 0;
        for (int step = 0; step < 60; step++) {
            switch (random.nextInt(3)) {
                case 0 -> {
                    open.add(writes.promise(++end, known, ++now, false));
                    ends.add(end);
                }
                case 1 -> {
                    if (!open.isEmpty()) {
                        int i = random.nextInt(open.size());
                        writes.landed(open.remove(i), ends.remove(i));
                    }
                }
                default -> {
                    @Nullable GrowOp grow = writes.take(0, known, false, false, false);
                    if (grow != null) {
                        long durable = ends.isEmpty() ? end : ends.getFirst() - 1;
                        assertThat(grow.getSize()).isLessThanOrEqualTo(durable);
                        known = Math.max(known, grow.getSize());
                        writes.grown();
                    }
                }
            }
            assertThat(Math.max(known, writes.size())).as("as it is shown").isEqualTo(end);
        }
        while (!open.isEmpty()) {
            writes.landed(open.removeFirst(), ends.removeFirst());
        }
        @Nullable GrowOp last = writes.take(0, known, false, false, false);
        assertThat(Math.max(known, last == null ? 0 : last.getSize())).isEqualTo(end);
    }

    private Promise promise(long end) {
        return own.promise(end, 0, ++now, false);
    }

    private @Nullable GrowOp take(long known) {
        return own.take(0, known, false, false, false);
    }

    private GrowOp taken(long known) {
        @Nullable GrowOp grow = take(known);
        return grow == null ? GrowOp.getDefaultInstance() : grow;
    }

    private static Timespec time(long seconds) {
        return Timespec.newBuilder().setSeconds(seconds).build();
    }
}
