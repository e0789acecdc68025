package io.cairn.common.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class BlockCrcTest {
    private static int crc(byte[] bytes, int from, int to) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, to - from);
        return (int) crc.getValue();
    }

    @Test
    void countsBlocksTouched() {
        assertThat(BlockCrc.count(0, 0)).isZero();
        assertThat(BlockCrc.count(5000, 0)).isZero();
        assertThat(BlockCrc.count(0, 1)).isEqualTo(1);
        assertThat(BlockCrc.count(0, 4096)).isEqualTo(1);
        assertThat(BlockCrc.count(1, 4096)).isEqualTo(2);
        assertThat(BlockCrc.count(4095, 1)).isEqualTo(1);
        assertThat(BlockCrc.count(4095, 2)).isEqualTo(2);
        assertThat(BlockCrc.count(4096, 8193)).isEqualTo(3);
        assertThat(BlockCrc.count(Integer.MAX_VALUE, Integer.MAX_VALUE)).isEqualTo(524289);
    }

    @Test
    void knownValue() {
        // RFC 3720, B.4: 32 bytes of zeros.
        assertThat(BlockCrc.of(ByteBuffer.allocate(32))).isEqualTo(0x8A9136AA);
        assertThat(BlockCrc.compute(ByteBuffer.allocate(32), 100)).containsExactly(0x8A9136AA);
    }

    @Test
    void agreesWithTheNaiveWayWhereverTheDataStarts() {
        Random random = TestSeed.random("BlockCrcTest");
        for (int i = 0; i < 300; i++) {
            int offset = random.nextInt(20_000);
            byte[] bytes = new byte[random.nextInt(20_000)];
            random.nextBytes(bytes);
            int[] expected = naive(bytes, offset);
            ByteBuf direct = Unpooled.directBuffer().writeZero(7).writeBytes(bytes).skipBytes(7);
            assertThat(BlockCrc.compute(direct, offset)).isEqualTo(expected);
            assertThat(BlockCrc.compute(ByteBuffer.wrap(bytes), offset)).isEqualTo(expected);
            assertThat(BlockCrc.firstMismatch(direct, offset, expected)).isEqualTo(-1);
            assertThat(direct.readableBytes()).isEqualTo(bytes.length);
            if (bytes.length > 0) {
                int victim = random.nextInt(bytes.length);
                direct.setByte(7 + victim, direct.getByte(7 + victim) ^ 1 << random.nextInt(8));
                assertThat(BlockCrc.firstMismatch(direct, offset, expected))
                        .isEqualTo((offset + victim) / 4096 - offset / 4096);
                assertThat(BlockCrc.firstMismatch(direct, offset, new int[0])).isZero();
            }
            direct.release();
        }
    }

    private static int[] naive(byte[] bytes, int offset) {
        int[] crcs = new int[BlockCrc.count(offset, bytes.length)];
        for (int b = 0; b < crcs.length; b++) {
            int blockStart = (offset / 4096 + b) * 4096 - offset;
            crcs[b] =
                    crc(bytes, Math.max(0, blockStart), Math.min(bytes.length, blockStart + 4096));
        }
        return crcs;
    }
}
