package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class FrameFormatTest {
    private final CRC32C crc = new CRC32C();

    /** Method 258, id 0x0102030405060708, 1,500 ms, head "head", 5 bytes of payload. */
    private static final String GOLDEN =
            "43524e31" // magic
                    + "09000000" // body
                    + "01" // request
                    + "00"
                    + "0201" // method
                    + "0807060504030201" // id
                    + "dc050000" // deadline
                    + "04000000" // head
                    + "e8977cea" // CRC32C("head")
                    + "00000000"
                    + "b9b16117";

    private byte[] golden() {
        byte[] header = new byte[FrameFormat.HEADER_LENGTH];
        FrameFormat.encode(header, 1, 258, 0x0102030405060708L, 1500, 4, headCrc(), 5, crc);
        return header;
    }

    private int headCrc() {
        crc.reset();
        crc.update("head".getBytes(StandardCharsets.US_ASCII));
        return (int) crc.getValue();
    }

    @Test
    void goldenBytes() {
        assertThat(HexFormat.of().formatHex(golden())).isEqualTo(GOLDEN);
    }

    @Test
    void readsWhatItWrote() {
        byte[] header = golden();
        assertThat(FrameFormat.check(header, 9, crc)).isNull();
        assertThat(FrameFormat.kind(header)).isEqualTo(FrameFormat.KIND_REQUEST);
        assertThat(FrameFormat.method(header)).isEqualTo(258);
        assertThat(FrameFormat.requestId(header)).isEqualTo(0x0102030405060708L);
        assertThat(FrameFormat.word(header)).isEqualTo(1500);
        assertThat(FrameFormat.bodyLength(header)).isEqualTo(9);
        assertThat(FrameFormat.headLength(header)).isEqualTo(4);
        assertThat(FrameFormat.headCrc(header)).isEqualTo(headCrc());
    }

    @Test
    void agreesWithTheTestsOwnFrames() {
        RawFrame raw = RawFrame.of(1);
        raw.method = 258;
        raw.requestId = 0x0102030405060708L;
        raw.word = 1500;
        raw.head = "head".getBytes(StandardCharsets.US_ASCII);
        raw.payload = new byte[5];
        assertThat(Arrays.copyOf(raw.bytes(), 40)).isEqualTo(golden());
    }

    @Test
    void everyFlippedBitIsFound() {
        for (int bit = 0; bit < 8 * FrameFormat.HEADER_LENGTH; bit++) {
            byte[] header = golden();
            header[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(FrameFormat.check(header, 1 << 30, crc)).as("bit %d", bit).isNotNull();
        }
    }

    @Test
    void namesWhatIsWrong() {
        assertThat(FrameFormat.check(golden(), 8, crc))
                .isEqualTo("frame body of 9 bytes is larger than the allowed 8");
        assertThat(FrameFormat.check(new byte[40], 8, crc)).contains("bad magic 00000000");
        RawFrame frame = RawFrame.of(9);
        assertThat(FrameFormat.check(frame.bytes(), 8, crc)).isEqualTo("unknown frame kind 9");
        frame = RawFrame.of(1);
        frame.bodyLength = -1;
        assertThat(FrameFormat.check(frame.bytes(), 8, crc)).contains("4294967295");
        frame = RawFrame.of(1);
        frame.headLength = 1;
        assertThat(FrameFormat.check(frame.bytes(), 8, crc)).contains("longer than its body");
    }

    @Test
    void statusHoldsErrnoAndAdvice() {
        int word = FrameFormat.status(113, Advice.FENCED.number());
        assertThat(word).isEqualTo(5 << 16 | 113);
        assertThat(FrameFormat.errno(word)).isEqualTo(113);
        assertThat(Advice.of(FrameFormat.advice(word))).isEqualTo(Advice.FENCED);
        assertThat(Advice.of(200)).isEqualTo(Advice.GIVE_UP);
    }
}
