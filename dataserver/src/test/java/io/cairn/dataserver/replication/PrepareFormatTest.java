package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The bytes of PG_PREPARE and of its reply, and every truncation of them. */
class PrepareFormatTest {
    private static final DataOp OP =
            DataOp.write(
                    0x10007,
                    new DataOp.Range(0x99, 2, 16, 8),
                    new DataOp.Caller(5, 6, 4),
                    new DataOp.Known(12, 3, List.of(new DataOp.Cut(3, 4096))),
                    new int[] {0x01020304});
    private static final Prepare PREPARE =
            new Prepare(
                    0x0A0B,
                    0x11,
                    0x0F,
                    0x21,
                    new PgLogEntry(0x10, 0x22, OP, Unpooled.EMPTY_BUFFER));
    private static final String FIXED_PART =
            "07000100"
                    + "0b0a0000"
                    + "1100000000000000"
                    + "1000000000000000"
                    + "0f00000000000000"
                    + "2200000000000000"
                    + "2100000000000000";

    private static ByteBuf written() {
        ByteBuf out = Unpooled.buffer();
        PrepareFormat.encode(PREPARE, out);
        return out;
    }

    @Test
    void prepareIsThese() {
        ByteBuf out = written();
        assertThat(out.readableBytes()).isEqualTo(PrepareFormat.encodedLength(PREPARE));
        assertThat(ByteBufUtil.hexDump(out, 0, PrepareFormat.FIXED_LENGTH)).isEqualTo(FIXED_PART);
    }

    @Test
    void prepareIsReadBack() {
        Prepare read = PrepareFormat.decode(written(), Unpooled.EMPTY_BUFFER);
        assertThat(read)
                .usingRecursiveComparison()
                .ignoringFields("entry.payload")
                .isEqualTo(PREPARE);
    }

    @Test
    void everyTruncationIsRefused() {
        ByteBuf whole = written();
        for (int length = 0; length < whole.readableBytes(); length++) {
            ByteBuf part = whole.slice(0, length);
            assertThatThrownBy(() -> PrepareFormat.decode(part, Unpooled.EMPTY_BUFFER))
                    .isInstanceOfSatisfying(
                            FsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EPROTO));
        }
    }

    @Test
    void contradictionsAreRefused() {
        ByteBuf otherPg = written().setIntLE(0, 8);
        ByteBuf entryOfTheFuture = written().setLongLE(16, 0x12);
        ByteBuf noSequence = written().setLongLE(32, 0);
        for (ByteBuf bad : List.of(otherPg, entryOfTheFuture, noSequence)) {
            assertThatThrownBy(() -> PrepareFormat.decode(bad, Unpooled.EMPTY_BUFFER))
                    .isInstanceOf(FsException.class);
        }
    }

    @Test
    void replyIsThese() {
        PrepareReplyFormat.Reply reply =
                new PrepareReplyFormat.Reply(0x11, 0x22, new DiskSpace(0x33, true), true);
        ByteBuf out = Unpooled.buffer();
        PrepareReplyFormat.encode(reply, out);
        assertThat(ByteBufUtil.hexDump(out))
                .isEqualTo("1100000000000000220000000000000033000000000000000100000001000000");
        assertThat(PrepareReplyFormat.decode(out)).isEqualTo(reply);
        assertThat(PrepareReplyFormat.decode(out.copy().setIntLE(28, 0xfffe)).space().growing())
                .as("flags of a later version")
                .isFalse();
        for (int length = 0; length < PrepareReplyFormat.LENGTH; length++) {
            ByteBuf part = out.slice(0, length);
            assertThatThrownBy(() -> PrepareReplyFormat.decode(part))
                    .isInstanceOf(FsException.class);
        }
        assertThatThrownBy(() -> PrepareReplyFormat.decode(out.setIntLE(24, 2)))
                .isInstanceOf(FsException.class);
    }
}
