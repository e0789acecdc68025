package io.cairn.dataserver.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.data.DataOp;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The bytes of PG_READ and every truncation of them. */
class PgReadFormatTest {
    private static final DataOp OP =
            DataOp.read(
                    7,
                    new DataOp.Range(9, 2, 16, 8),
                    new DataOp.Caller(5, 0, 0),
                    new DataOp.Known(12, 3, List.of()));
    private static final PgReadFormat.PgRead READ = new PgReadFormat.PgRead(0x0A0B, 0x11, OP);

    private static ByteBuf written() {
        ByteBuf out = Unpooled.buffer();
        PgReadFormat.encode(READ, out);
        return out;
    }

    @Test
    void isThese() {
        ByteBuf out = written();
        assertThat(out.readableBytes()).isEqualTo(PgReadFormat.encodedLength(OP));
        assertThat(ByteBufUtil.hexDump(out, 0, PgReadFormat.FIXED_LENGTH))
                .isEqualTo("0b0a0000000000001100000000000000");
        assertThat(PgReadFormat.decode(out)).usingRecursiveComparison().isEqualTo(READ);
    }

    @Test
    void everyTruncationIsRefused() {
        ByteBuf whole = written();
        for (int length = 0; length < whole.readableBytes(); length++) {
            ByteBuf part = whole.slice(0, length);
            assertThatThrownBy(() -> PgReadFormat.decode(part)).isInstanceOf(FsException.class);
        }
    }
}
