package io.cairn.fuse.op;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.RecalledName;
import io.cairn.fuse.op.KernelLeases.Asked;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class KernelLeasesTest {
    private static final long CAP = TimeUnit.SECONDS.toNanos(1);
    private static final long MARGIN = TimeUnit.MILLISECONDS.toNanos(30);
    private static final int LEASE_MICROS = 600_000;
    private static final long LEASE = TimeUnit.MICROSECONDS.toNanos(LEASE_MICROS);
    private static final byte[] NAME = "name".getBytes(UTF_8);
    private static final byte[] OTHER = "other".getBytes(UTF_8);

    /** Near where the clock of a machine may wrap around. */
    private long now = Long.MAX_VALUE - LEASE / 2;

    private final KernelLeases leases = new KernelLeases(true, 0, CAP, () -> now);

    private static Attr attr(long inode, int micros) {
        return Attr.newBuilder().setInode(inode).setAttrLeaseMicros(micros).build();
    }

    private long attrs(Asked asked) {
        return leases.attrNanos(asked, attr(7, LEASE_MICROS));
    }

    private long names(Asked asked) {
        return leases.nameNanos(asked, 5, NAME, LEASE_MICROS);
    }

    private static ReadRecall recall(long directory, byte[] name) {
        return ReadRecall.newBuilder()
                .addNames(
                        RecalledName.newBuilder()
                                .setDirectory(directory)
                                .setName(ByteString.copyFrom(name)))
                .build();
    }

    @Test
    void whatIsLeftOfALeaseCountsFromTheQuestion() {
        Asked asked = leases.asked();
        assertThat(attrs(asked)).isEqualTo(LEASE - MARGIN);
        now += 100;
        assertThat(attrs(asked)).isEqualTo(LEASE - MARGIN - 100);
        assertThat(names(asked)).isEqualTo(LEASE - MARGIN - 100);
        now += LEASE;
        assertThat(attrs(asked)).isZero();
        assertThat(names(asked)).isZero();
    }

    @Test
    void noneIsLongerThanTheMountAllows() {
        assertThat(leases.attrNanos(leases.asked(), attr(7, -1))).isEqualTo(CAP);
        assertThat(leases.nameNanos(leases.asked(), 5, NAME, -1)).isEqualTo(CAP);
    }

    @Test
    void withoutALeaseNothingIsBelieved() {
        assertThat(leases.attrNanos(leases.asked(), attr(7, 0))).isZero();
        assertThat(leases.nameNanos(leases.asked(), 5, NAME, 0)).isZero();
    }

    @Test
    void withoutLeasesAtAllTheTimeoutsAreThoseOfTheMount() {
        KernelLeases none = new KernelLeases(false, 3, 4, () -> now);
        Asked asked = none.asked();
        none.changed(7);
        assertThat(none.attrNanos(asked, attr(7, LEASE_MICROS))).isEqualTo(4);
        assertThat(none.nameNanos(asked, 5, NAME, LEASE_MICROS)).isEqualTo(3);
    }

    @Test
    void anAnswerAskedBeforeAChangeIsNotBelieved() {
        Asked before = leases.asked();
        leases.recalled(ReadRecall.newBuilder().addInodes(7).build());
        assertThat(attrs(before)).isZero();
        assertThat(names(before)).as("names are another matter").isPositive();
        assertThat(leases.attrNanos(before, attr(8, LEASE_MICROS))).isPositive();
        assertThat(attrs(leases.asked())).as("asked after it").isPositive();
        Asked asked = leases.asked();
        leases.changed(7);
        assertThat(attrs(asked)).isZero();
    }

    @Test
    void anAnswerAskedBeforeAChangeOfTheNameIsNotBelieved() {
        Asked before = leases.asked();
        leases.recalled(recall(5, NAME));
        assertThat(names(before)).isZero();
        assertThat(attrs(before)).isPositive();
        assertThat(leases.nameNanos(before, 5, OTHER, LEASE_MICROS)).isPositive();
        assertThat(leases.nameNanos(before, 6, NAME, LEASE_MICROS)).isPositive();
        assertThat(names(leases.asked())).isPositive();
        Asked asked = leases.asked();
        leases.changed(5, NAME);
        assertThat(names(asked)).isZero();
    }

    @Test
    void aWholeDirectoryIsAllOfItsNames() {
        Asked before = leases.asked();
        leases.recalled(recall(5, new byte[0]));
        assertThat(names(before)).isZero();
        assertThat(leases.nameNanos(before, 5, OTHER, LEASE_MICROS)).isZero();
        assertThat(leases.nameNanos(before, 6, NAME, LEASE_MICROS)).isPositive();
        assertThat(names(leases.asked())).isPositive();
    }

    @Test
    void aNewSessionEndsEverything() {
        Asked before = leases.asked();
        leases.forgetAll();
        assertThat(attrs(before)).isZero();
        assertThat(names(before)).isZero();
        assertThat(attrs(leases.asked())).isPositive();
    }

    private static Attr bare(long inode) {
        return attr(inode, LEASE_MICROS).toBuilder().setNoXattrs(true).build();
    }

    @Test
    void noXattrsLastAsLongAsTheAttributes() {
        assertThat(leases.hasNoXattrs(7)).isFalse();
        leases.attrNanos(leases.asked(), attr(7, LEASE_MICROS));
        assertThat(leases.hasNoXattrs(7)).as("nobody said so").isFalse();
        leases.attrNanos(leases.asked(), attr(7, 0).toBuilder().setNoXattrs(true).build());
        assertThat(leases.hasNoXattrs(7)).as("without a lease").isFalse();
        leases.attrNanos(leases.asked(), bare(7));
        assertThat(leases.hasNoXattrs(7)).isTrue();
        assertThat(leases.hasNoXattrs(8)).isFalse();
        now += LEASE - MARGIN - 1;
        assertThat(leases.hasNoXattrs(7)).isTrue();
        now += 1;
        assertThat(leases.hasNoXattrs(7)).isFalse();
    }

    /** The attributes are another matter: the client's own writes change them. */
    @Test
    void noXattrsCanOutlastTheAttributes() {
        Attr written = attr(7, 0).toBuilder().setNoXattrsLeaseMicros(LEASE_MICROS).build();
        assertThat(leases.attrNanos(leases.asked(), written)).isZero();
        assertThat(leases.hasNoXattrs(7)).isTrue();
        now += LEASE - MARGIN;
        assertThat(leases.hasNoXattrs(7)).isFalse();
    }

    @Test
    void aChangeEndsThatThereAreNoXattrs() {
        Asked before = leases.asked();
        leases.attrNanos(before, bare(7));
        leases.attrNanos(before, bare(8));
        leases.recalled(ReadRecall.newBuilder().addInodes(7).build());
        assertThat(leases.hasNoXattrs(7)).isFalse();
        assertThat(leases.hasNoXattrs(8)).isTrue();
        leases.attrNanos(before, bare(7));
        assertThat(leases.hasNoXattrs(7)).as("asked before the change").isFalse();
        leases.changed(8);
        assertThat(leases.hasNoXattrs(8)).as("this mount has set none").isTrue();
        leases.changedXattrs(8);
        assertThat(leases.hasNoXattrs(8)).isFalse();
        leases.attrNanos(leases.asked(), bare(7));
        assertThat(leases.hasNoXattrs(7)).isTrue();
        leases.forgetAll();
        assertThat(leases.hasNoXattrs(7)).isFalse();
    }

    @Test
    void withoutLeasesAtAllNothingIsKnownOfXattrs() {
        KernelLeases none = new KernelLeases(false, 3, 4, () -> now);
        none.attrNanos(none.asked(), bare(7));
        assertThat(none.hasNoXattrs(7)).isFalse();
    }

    /** What was judged before a recall is written when the kernel is told to forget. */
    @Test
    void aRecallWaitsForTheAnswerThatWasJudgedBefore() throws InterruptedException {
        AtomicBoolean noted = new AtomicBoolean();
        Thread recalls =
                Thread.ofPlatform()
                        .unstarted(() -> {
                            leases.recalled(ReadRecall.newBuilder().addInodes(7).build());
                            noted.set(true);
                        });
        Asked asked = leases.asked();
        boolean written =
                leases.answer(() -> {
                    assertThat(attrs(asked)).isPositive();
                    recalls.start();
                    Awaitility.await().until(() -> recalls.getState() == Thread.State.WAITING);
                    return !noted.get();
                });
        assertThat(written).isTrue();
        recalls.join();
        assertThat(attrs(asked)).isZero();
    }

    @Test
    void attributesAreYoungUntilTheKernelHasSurelyLookedAtThem() {
        assertThat(leases.isYoung(7)).isFalse();
        leases.attrNanos(leases.asked(), attr(7, 0));
        assertThat(leases.isYoung(7)).as("not to be believed").isFalse();
        attrs(leases.asked());
        assertThat(leases.isYoung(7)).isTrue();
        now += KernelLeases.YOUNG_NANOS;
        assertThat(leases.isYoung(7)).isFalse();
    }
}
