package io.cairn.common.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.errno.FsException;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class DataOpFormatTest {
    private static final DataOp WRITE =
            DataOp.write(
                    0x00010042,
                    new DataOp.Range(0x0001020304050607L, 3, 4000, 200),
                    new DataOp.Caller(0x1122334455667788L, 9, 7),
                    new DataOp.Known(77, 12, List.of(new Cut(11, 0), new Cut(12, 4096))),
                    new int[] {0xAABBCCDD, 0x01020304});

    private static final String GOLDEN =
            "01010000" // version, type, flags
                    + "42000100" // pg
                    + "8877665544332211" // session
                    + "0900000000000000" // number
                    + "0700000000000000" // acked below
                    + "0706050403020100" // inode
                    + "03000000" // chunk
                    + "a00f0000" // offset
                    + "c8000000" // length
                    + "0200" // cuts
                    + "0200" // CRCs
                    + "0c00000000000000" // truncate sequence
                    + "4d00000000000000" // map epoch
                    + "0b000000000000000000000000000000"
                    + "0c000000000000000010000000000000"
                    + "ddccbbaa"
                    + "04030201";

    private static byte[] encoded(DataOp op) {
        ByteBuf to = Unpooled.buffer();
        DataOpFormat.encode(op, to);
        return ByteBufUtil.getBytes(to);
    }

    private static void assertSame(DataOp actual, DataOp expected) {
        assertThat(actual).usingRecursiveComparison().isEqualTo(expected);
    }

    @Test
    void goldenBytes() {
        assertThat(HexFormat.of().formatHex(encoded(WRITE))).isEqualTo(GOLDEN);
        assertThat(DataOpFormat.encodedLength(WRITE)).isEqualTo(GOLDEN.length() / 2);
    }

    @Test
    void bothBufferTypesAgreeAndMoveOn() {
        byte[] bytes = HexFormat.of().parseHex(GOLDEN + "ff");
        ByteBuf in = Unpooled.directBuffer().writeBytes(bytes);
        assertSame(DataOpFormat.decode(in), WRITE);
        assertThat(in.readableBytes()).isEqualTo(1);
        in.release();

        ByteBuffer heap = ByteBuffer.wrap(bytes);
        assertSame(DataOpFormat.decode(heap), WRITE);
        assertThat(heap.remaining()).isEqualTo(1);

        ByteBuffer direct = ByteBuffer.allocateDirect(200).position(3);
        DataOpFormat.encode(WRITE, direct);
        assertThat(direct.position()).isEqualTo(3 + GOLDEN.length() / 2);
        assertSame(DataOpFormat.decode(direct.flip().position(3)), WRITE);
    }

    @Test
    void everyTruncationIsRefused() {
        byte[] bytes = encoded(WRITE);
        for (int length = 0; length < bytes.length; length++) {
            ByteBuffer cut = ByteBuffer.wrap(Arrays.copyOf(bytes, length));
            assertThatThrownBy(() -> DataOpFormat.decode(cut))
                    .as("%d bytes", length)
                    .isInstanceOf(FsException.class)
                    .hasMessageContaining("malformed data operation");
        }
    }

    @Test
    void everyTypeSurvives() {
        assertSurvives(op(DataOpType.READ, 100, 5000, new int[0]));
        assertSurvives(op(DataOpType.NOOP, 0, 0, new int[0]));
        assertSurvives(op(DataOpType.DELETE_INODES, 0, 4096 * 8, new int[0]));
        assertSurvives(op(DataOpType.TRUNCATE_INODE, 0, 24, new int[0]));
        assertSurvives(op(DataOpType.SPLIT, 0, 16, new int[0]));
        assertSurvives(op(DataOpType.MERGE, 0, 32, new int[0]));
        assertSurvives(op(DataOpType.WRITE, (64 << 20) - 1, 1, new int[1]));
        assertSurvives(op(DataOpType.WRITE, 1, 64 << 20 >> 2, new int[4097]));
    }

    @Test
    void impossibleOperationsAreRefused() {
        assertRefused(op(DataOpType.WRITE, -1, 10, new int[1]));
        assertRefused(op(DataOpType.WRITE, 0, 0, new int[0]));
        assertRefused(op(DataOpType.WRITE, 0, -1, new int[0]));
        assertRefused(op(DataOpType.WRITE, 64 << 20, 1, new int[1]));
        assertRefused(op(DataOpType.WRITE, Integer.MAX_VALUE, Integer.MAX_VALUE, new int[1]));
        assertRefused(op(DataOpType.WRITE, 4095, 2, new int[1]));
        assertRefused(op(DataOpType.WRITE, 4095, 2, new int[3]));
        assertRefused(op(DataOpType.READ, 0, 2, new int[1]));
        assertRefused(op(DataOpType.DELETE_INODES, 0, 7, new int[0]));
        assertRefused(op(DataOpType.DELETE_INODES, 0, 0, new int[0]));
        assertRefused(op(DataOpType.DELETE_INODES, 0, 4097 * 8, new int[0]));
        assertRefused(op(DataOpType.NOOP, 0, 1, new int[0]));
        assertRefused(op(DataOpType.TRUNCATE_INODE, 4, 24, new int[0]));
        assertRefused(op(DataOpType.SPLIT, 0, 15, new int[0]));
        assertRefused(op(DataOpType.MERGE, 0, 31, new int[0]));
        assertRefused(op(DataOpType.SPLIT, 4, 16, new int[0]));
        assertRefused(cuts(new Cut(5, -1)));
        assertRefused(cuts(new Cut(5, (64 << 20) + 1)));
        assertRefused(cuts(new Cut(0, 1)));
        assertRefused(cuts(new Cut(13, 1)));
        assertRefused(cuts(new Cut(5, 1), new Cut(5, 1)));
        assertRefused(
                cuts(new Cut(1, 1), new Cut(2, 1), new Cut(3, 1), new Cut(4, 1), new Cut(5, 1)));
    }

    private static DataOp op(DataOpType type, int offset, int length, int[] crcs) {
        return new DataOp(type, 0, 1, 2, 3, 0, 5, 0, offset, length, 12, 1, List.of(), crcs);
    }

    private static DataOp cuts(Cut... cuts) {
        return DataOp.read(
                1,
                new DataOp.Range(5, 0, 0, 1),
                new DataOp.Caller(2, 3, 0),
                new DataOp.Known(1, 12, List.of(cuts)));
    }

    private static void assertSurvives(DataOp op) {
        assertSame(DataOpFormat.decode(ByteBuffer.wrap(encoded(op))), op);
    }

    private static void assertRefused(DataOp op) {
        assertThatThrownBy(() -> encoded(op)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void hostileBytesAreRefusedOrMakeAPossibleOperation() {
        Random random = TestSeed.random("DataOpFormatTest");
        for (int i = 0; i < 50_000; i++) {
            byte[] bytes = encoded(WRITE);
            for (int flips = random.nextInt(4); flips >= 0; flips--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                byte[] again = encoded(DataOpFormat.decode(ByteBuffer.wrap(bytes)));
                assertThat(Arrays.equals(again, Arrays.copyOf(bytes, again.length))).isTrue();
            } catch (FsException expected) {
                assertThat(expected).hasMessageContaining("malformed");
            }
        }
    }

    @Test
    void unknownVersionTypeFlagsAreRefused() {
        for (int index : new int[] {0, 1, 2, 3, 72 + 12}) {
            byte[] bytes = encoded(WRITE);
            bytes[index] = 99;
            assertThatThrownBy(() -> DataOpFormat.decode(ByteBuffer.wrap(bytes)))
                    .isInstanceOf(FsException.class);
        }
    }
}
