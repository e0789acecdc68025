package io.cairn.dataserver.wal;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.wal.LearnerStep.CopyEnd;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The bytes of the log must never change; short or altered ones are not taken for intact. */
class WalFormatsTest {
    private static final UUID DISK = new UUID(0x0102030405060708L, 0x1112131415161718L);

    @Test
    void segmentHeader() {
        ByteBuffer b = buffer(64);
        var header = new WalSegmentFormat.Header(DISK, 1 << 26, 5, 0xfeedL, 1000);
        WalSegmentFormat.encode(b, header);
        assertHex(
                b,
                64,
                "434149524e57414c010000000000000408070605040302011817161514131211"
                        + "0500000000000000edfe000000000000e80300000000000000000000c9210995");
        assertThat(WalSegmentFormat.decode(b)).isEqualTo(header);
        for (int i = 0; i < 64; i++) {
            assertThat(WalSegmentFormat.decode(altered(b, i))).isNull();
            assertThat(WalSegmentFormat.decode(b.slice(0, i).order(ByteOrder.LITTLE_ENDIAN)))
                    .isNull();
        }
    }

    @Test
    void batchHeader() {
        ByteBuffer b = buffer(64);
        var header = new WalBatchFormat.Header(0xfeedL, 5, 1001, 1000, 300, 2);
        WalBatchFormat.encode(b, header, DISK);
        assertHex(
                b,
                64,
                "574241546c2ee933edfe0000000000000500000000000000e903000000000000"
                        + "e8030000000000002c0100000200000008070605040302011817161514131211");
        assertThat(WalBatchFormat.decode(b, 0, DISK)).isEqualTo(header);
        assertThat(WalBatchFormat.decode(b, 0, new UUID(3, 4))).as("another disk").isNull();
        for (int i = 0; i < 64; i++) {
            assertThat(WalBatchFormat.decode(altered(b, i), 0, DISK)).isNull();
            ByteBuffer part = b.slice(0, i).order(ByteOrder.LITTLE_ENDIAN);
            assertThat(WalBatchFormat.decode(part, 0, DISK)).isNull();
        }
    }

    @Test
    void record() {
        ByteBuffer b = buffer(128);
        var header =
                new WalRecordFormat.Header(
                        1001, 2, 33, 0x00010002, WalRecordFormat.OPERATION, 0, 8, 12, 0x55);
        WalRecordFormat.encode(b, 0, header);
        b.putLong(64, 0x0807060504030201L);
        assertThat(WalRecordFormat.seal(b, 0, 0xfeedL)).isEqualTo(88);
        assertHex(
                b,
                72,
                "9d3b0d4154000000edfe000000000000e9030000000000000200000000000000"
                        + "21000000000000000200010001000000080000000c0000005500000000000000"
                        + "0102030405060708");
        assertThat(WalRecordFormat.decode(b, 0, 128, 0xfeedL)).isEqualTo(header);
        assertThat(WalRecordFormat.decode(b, 0, 128, 0xfeeeL)).as("another use").isNull();
        for (int i = 0; i < 72; i++) {
            assertThat(WalRecordFormat.decode(altered(b, i), 0, 128, 0xfeedL)).isNull();
        }
        for (int limit = 0; limit < 84; limit++) {
            assertThat(WalRecordFormat.decode(b, 0, limit, 0xfeedL)).isNull();
        }
    }

    @Test
    void recordOfALargeWrite() {
        ByteBuffer b = buffer(128);
        var header =
                new WalRecordFormat.Header(
                        1002, 2, 34, 0x00010002, WalRecordFormat.DIRECT_OPERATION, 2, 8, 0, 0);
        WalRecordFormat.encode(b, 0, header);
        b.putLong(64, 0x0807060504030201L);
        List<BlockRun> extents = List.of(new BlockRun(0x1122334455L, 60), new BlockRun(7, 4));
        WalRecordFormat.encodeExtents(b, 72, extents);
        assertThat(WalRecordFormat.seal(b, 0, 0xfeedL)).isEqualTo(104);
        assertHex(
                b,
                104,
                "145d53e868000000edfe000000000000ea030000000000000200000000000000"
                        + "2200000000000000020001000300020008000000000000000000000000000000"
                        + "010203040506070855443322110000003c000000000000000700000000000000"
                        + "0400000000000000");
        assertThat(WalRecordFormat.decode(b, 0, 128, 0xfeedL)).isEqualTo(header);
        assertThat(WalRecordFormat.decodeExtents(b, 0, header)).isEqualTo(extents);
        for (int i = 0; i < 104; i++) {
            assertThat(WalRecordFormat.decode(altered(b, i), 0, 128, 0xfeedL)).isNull();
        }
        for (int limit = 0; limit < 104; limit++) {
            assertThat(WalRecordFormat.decode(b, 0, limit, 0xfeedL)).isNull();
        }
    }

    @Test
    void reset() {
        assertStep(
                new LearnerStep.Reset(7, Completeness.upTo(0x1122)),
                LearnerStep.none(5),
                20,
                "02010000000000000700000000000000000000000000000022110000000000000000"
                        + "000000000000000000000000000000000000000000000000000000000000");
    }

    @Test
    void resetOfWhatSomeWasCopiedTo() {
        assertStep(
                new LearnerStep.Reset(7, new Completeness(0x1122, 0x3344, -1, 0x5566)),
                LearnerStep.none(5),
                20,
                "02010800ffffffff070000000000000044330000000000002211000000000000"
                        + "0000000000000000665500000000000000000000000000000000000000000000");
    }

    @Test
    void copiedTo() {
        assertStep(
                new LearnerStep.CopiedTo(8, 0x3344, 5),
                LearnerStep.none(5),
                0,
                "0205000005000000080000000000000044330000000000000000000000000000"
                        + "0000000000000000000000000000000000000000000000000000000000000000");
    }

    @Test
    void completed() {
        assertStep(
                new LearnerStep.Completed(8),
                LearnerStep.none(5),
                0,
                "02020000000000000800000000000000000000000000000000000000000000000000"
                        + "000000000000000000000000000000000000000000000000000000000000");
    }

    @Test
    void copiesOfAChunk() {
        CopyEnd end = new CopyEnd(3, 0x0101, 9, 4100);
        assertStep(
                new LearnerStep.Copy(9, true, 8192, end),
                LearnerStep.copied(5, 0x1234, 2, 0, 4100, end, new int[] {0x11, 0x22}),
                4100,
                "02030300020000000900000000000000341200000000000009000000000000000300"
                        + "00000000000001010000000000000410000000000000020000000020000011000000"
                        + "22000000");
        assertStep(
                new LearnerStep.Copy(10, false, 0, null),
                LearnerStep.copied(5, 0x1234, 2, 8192, 4096, null, new int[] {0x33}),
                4096,
                "02030000020000000a00000000000000341200000000000000000000000000000000"
                        + "00000000000000000000000000000000000000200000"
                        + "010000000000000033000000");
    }

    @Test
    void theFirstVersionKeptNothing() {
        String old =
                "01030300020000000900000000000000341200000000000009000000000000000300"
                        + "00000000000001010000000000000410000000000000020000001100000022000000";
        ByteBuffer b = ByteBuffer.wrap(HexFormat.of().parseHex(old));
        var back = Objects.requireNonNull(LearnerStepFormat.decode(b, 5, 4100));
        CopyEnd end = new CopyEnd(3, 0x0101, 9, 4100);
        assertThat(back.step()).isEqualTo(new LearnerStep.Copy(9, true, 0, end));
        assertThat(back.op().blockCrcs()).containsExactly(0x11, 0x22);
        for (int i = 0; i < b.limit(); i++) {
            assertThat(LearnerStepFormat.decode(b.slice(0, i), 5, 4100)).isNull();
        }
        String reset =
                "01010000000000000700000000000000000000000000000022110000000000000000"
                        + "0000000000000000000000000000000000000000000000000000";
        back =
                Objects.requireNonNull(
                        LearnerStepFormat.decode(
                                ByteBuffer.wrap(HexFormat.of().parseHex(reset)), 5, 20));
        assertThat(back.step()).isEqualTo(new LearnerStep.Reset(7, Completeness.NOTHING));
    }

    @Test
    void copiedInode() {
        assertStep(
                new LearnerStep.CopyInode(11, true),
                LearnerStep.copiedInode(5, 0x1234, 6),
                0,
                "02040400000000000b00000000000000341200000000000006000000000000000000"
                        + "000000000000000000000000000000000000000000000000000000000000");
    }

    private static void assertStep(LearnerStep step, DataOp op, int payload, String expected) {
        int length = LearnerStepFormat.encodedLength(op);
        ByteBuffer b = buffer(length);
        LearnerStepFormat.encode(step, op, b);
        assertHex(b, length, expected);
        var back = LearnerStepFormat.decode(b, 5, payload);
        if (back == null) {
            throw new AssertionError("refused");
        }
        assertThat(back.step()).isEqualTo(step);
        assertThat(back.op().blockCrcs()).isEqualTo(op.blockCrcs());
        assertThat(back.op()).usingRecursiveComparison().isEqualTo(op);
        for (int i = 0; i < length; i++) {
            assertThat(LearnerStepFormat.decode(b.slice(0, i), 5, payload)).isNull();
        }
        for (int bit = 0; bit < length * 8; bit++) {
            assertPossible(b, bit, payload);
        }
        if (!(step instanceof LearnerStep.Reset)) {
            assertThat(LearnerStepFormat.decode(b, 5, payload + 1)).isNull();
        }
    }

    /** What a wrong bit makes of a step is refused, or one that the store can do something with. */
    private static void assertPossible(ByteBuffer good, int bit, int payload) {
        ByteBuffer bad = buffer(good.capacity()).put(0, good, 0, good.capacity());
        bad.put(bit / 8, (byte) (bad.get(bit / 8) ^ 1 << bit % 8));
        var step = LearnerStepFormat.decode(bad, 5, payload);
        if (step != null && step.step() instanceof LearnerStep.Copy copy) {
            CopyEnd e = copy.end();
            assertThat(copy.cutTo()).isBetween(0, copy.begins() ? 64 << 20 : 0);
            DataOp op = step.op();
            assertThat(op.offset() % 4096).isZero();
            assertThat(op.offset() + op.length())
                    .isBetween(0, e == null ? 64 << 20 : e.lengthBytes());
            assertThat(op.blockCrcs()).hasSize(BlockCrc.count(op.offset(), op.length()));
        }
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static ByteBuffer altered(ByteBuffer good, int at) {
        ByteBuffer copy = buffer(good.capacity());
        copy.put(0, good, 0, good.capacity());
        copy.put(at, (byte) (copy.get(at) ^ 0x10));
        return copy;
    }

    private static void assertHex(ByteBuffer b, int length, String expected) {
        assertThat(HexFormat.of().formatHex(b.array(), 0, length)).isEqualTo(expected);
    }
}
