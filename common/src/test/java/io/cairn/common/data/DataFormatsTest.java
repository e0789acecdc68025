package io.cairn.common.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

/** The small formats beside {@link DataOpFormat}. */
class DataFormatsTest {
    private static final ReadReply REPLY = new ReadReply(9000, 5000, new int[] {1, 0x01020304, 3});

    private static ByteBuf reply() {
        ByteBuf to = Unpooled.buffer();
        ReadReplyFormat.encode(REPLY, to);
        return to;
    }

    @Test
    void readReplyGoldenBytes() {
        assertThat(ByteBufUtil.hexDump(reply()))
                .isEqualTo("282300008813000003000000" + "010000000403020103000000");
        assertThat(ReadReplyFormat.encodedLength(REPLY)).isEqualTo(24);
        assertThat(ReadReplyFormat.decode(reply(), 4000, 9000, 5000))
                .usingRecursiveComparison()
                .isEqualTo(REPLY);
    }

    @Test
    void readReplyMustFitTheQuestion() {
        for (int length = 0; length < 24; length++) {
            ByteBuf cut = reply().writerIndex(length);
            assertThatThrownBy(() -> ReadReplyFormat.decode(cut, 4000, 9000, 5000))
                    .isInstanceOf(FsException.class);
        }
        assertReplyRefused(reply().writeByte(0), 4000, 9000, 5000);
        assertReplyRefused(reply(), 0, 9000, 5000);
        assertReplyRefused(reply(), 4000, 9001, 5000);
        assertReplyRefused(reply(), 4000, 4999, 5000);
        assertReplyRefused(reply(), 4000, 9000, 5001);
        assertReplyRefused(reply().setIntLE(4, -1), 4000, 9000, -1);
        assertReplyRefused(reply().setIntLE(8, Integer.MAX_VALUE), 4000, 9000, 5000);
    }

    private static void assertReplyRefused(ByteBuf head, int offset, int length, int payload) {
        assertThatThrownBy(() -> ReadReplyFormat.decode(head, offset, length, payload))
                .isInstanceOf(FsException.class)
                .hasMessageContaining("malformed read reply");
    }

    @Test
    void truncateInode() {
        var truncation = new TruncateInode(0x1234567890L, 4096, 3, 8192);
        ByteBuf payload = Unpooled.buffer();
        TruncateInodeFormat.encode(truncation, payload);
        assertThat(ByteBufUtil.hexDump(payload))
                .isEqualTo("9078563412000000" + "00100000" + "03000000" + "00200000" + "00000000");
        assertThat(TruncateInodeFormat.decode(payload)).isEqualTo(truncation);
        for (int length = 0; length < TruncateInodeFormat.LENGTH; length++) {
            ByteBuf cut = payload.copy(0, length);
            assertThatThrownBy(() -> TruncateInodeFormat.decode(cut))
                    .isInstanceOf(FsException.class);
        }
        for (int[] bad : new int[][] {{4, -1}, {8, 4097}, {12, 0}, {16, -1}, {20, 1}}) {
            ByteBuf broken = payload.copy().setIntLE(bad[0], bad[1]);
            assertThatThrownBy(() -> TruncateInodeFormat.decode(broken))
                    .isInstanceOf(FsException.class);
        }
    }

    @Test
    void split() {
        var split = new Split(0x00010083, 128, 0x1234567890L);
        assertThat(split.parent()).isEqualTo(0x00010003);
        ByteBuf payload = Unpooled.buffer();
        SplitFormat.encode(split, payload);
        assertThat(ByteBufUtil.hexDump(payload))
                .isEqualTo("83000100" + "80000000" + "9078563412000000");
        assertThat(SplitFormat.decode(payload)).isEqualTo(split);
        for (int length = 0; length < SplitFormat.LENGTH; length++) {
            ByteBuf cut = payload.copy(0, length);
            assertThatThrownBy(() -> SplitFormat.decode(cut)).isInstanceOf(FsException.class);
        }
        for (int[] bad : new int[][] {{0, 0x00010003}, {4, 0}, {4, -1}, {4, 0x84}, {12, -1}}) {
            ByteBuf broken = payload.copy().setIntLE(bad[0], bad[1]);
            assertThatThrownBy(() -> SplitFormat.decode(broken)).isInstanceOf(FsException.class);
        }
    }

    @Test
    void merge() {
        var merge = new Merge(0x00010083, 128, 0x1234567890L, 0x1234567891L, 77);
        assertThat(merge.parent()).isEqualTo(0x00010003);
        ByteBuf payload = Unpooled.buffer();
        MergeFormat.encode(merge, payload);
        assertThat(ByteBufUtil.hexDump(payload))
                .isEqualTo(
                        "83000100"
                                + "80000000"
                                + "9078563412000000"
                                + "9178563412000000"
                                + "4d00000000000000");
        assertThat(MergeFormat.decode(payload)).isEqualTo(merge);
        for (int length = 0; length < MergeFormat.LENGTH; length++) {
            ByteBuf cut = payload.copy(0, length);
            assertThatThrownBy(() -> MergeFormat.decode(cut)).isInstanceOf(FsException.class);
        }
        for (int[] bad :
                new int[][] {{0, 0x00010003}, {4, 0}, {4, 0x84}, {12, -1}, {16, 1}, {24, 0}}) {
            ByteBuf broken = payload.copy().setIntLE(bad[0], bad[1]);
            assertThatThrownBy(() -> MergeFormat.decode(broken)).isInstanceOf(FsException.class);
        }
    }

    @Test
    void deleteInodes() {
        ByteBuf payload = Unpooled.buffer();
        DeleteInodesFormat.encode(new long[] {1, -2}, payload);
        assertThat(ByteBufUtil.hexDump(payload)).isEqualTo("0100000000000000feffffffffffffff");
        assertThat(DeleteInodesFormat.decode(payload)).containsExactly(1, -2);
        for (int length = 0; length < 16; length++) {
            ByteBuf cut = payload.copy(0, length);
            if (length != 8) {
                assertThatThrownBy(() -> DeleteInodesFormat.decode(cut))
                        .isInstanceOf(FsException.class);
            }
        }
        assertThatThrownBy(() -> DeleteInodesFormat.decode(Unpooled.buffer().writeZero(8 * 4097)))
                .isInstanceOf(FsException.class);
        assertThatThrownBy(() -> DeleteInodesFormat.encode(new long[4097], Unpooled.buffer()))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
