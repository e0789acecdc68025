package io.cairn.dataserver.wal;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.dataserver.disk.BlockRun;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.List;
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
