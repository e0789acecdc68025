package io.cairn.dataserver.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.FsException;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

/** The bytes of PG_READ_BLOCK and its reply, and every truncation of them. */
class PgBlockFormatTest {
    private static final PgBlockFormat.PgBlock BLOCK =
            new PgBlockFormat.PgBlock(0x0A0B, 0x11, 0x10002, 0x123456789L, 3, 1023);
    private static final PgBlockFormat.Reply REPLY =
            new PgBlockFormat.Reply(new ChunkVersion(5, 0x77), 0xCAFE);

    @Test
    void isThese() {
        ByteBuf out = Unpooled.buffer();
        PgBlockFormat.encode(BLOCK, out);
        assertThat(ByteBufUtil.hexDump(out))
                .isEqualTo("0b0a0000ff030000110000000000000002000100030000008967452301000000");
        assertThat(out.readableBytes()).isEqualTo(PgBlockFormat.LENGTH);
        assertThat(PgBlockFormat.decode(out)).isEqualTo(BLOCK);
        for (int length = 0; length < out.readableBytes(); length++) {
            ByteBuf part = out.slice(0, length);
            assertThatThrownBy(() -> PgBlockFormat.decode(part)).isInstanceOf(FsException.class);
        }
        out.setIntLE(4, -1);
        assertThatThrownBy(() -> PgBlockFormat.decode(out)).isInstanceOf(FsException.class);
    }

    @Test
    void theReplyIsThese() {
        ByteBuf out = Unpooled.buffer();
        PgBlockFormat.encodeReply(REPLY, out);
        assertThat(ByteBufUtil.hexDump(out))
                .isEqualTo("05000000000000007700000000000000feca000000000000");
        assertThat(out.readableBytes()).isEqualTo(PgBlockFormat.REPLY_LENGTH);
        assertThat(PgBlockFormat.decodeReply(out)).isEqualTo(REPLY);
        for (int length = 0; length < out.readableBytes(); length++) {
            ByteBuf part = out.slice(0, length);
            assertThatThrownBy(() -> PgBlockFormat.decodeReply(part))
                    .isInstanceOf(FsException.class);
        }
    }
}
