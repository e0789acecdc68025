package io.cairn.dataserver.chunk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.dataserver.chunk.DiskStateFormat.DiskState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.chunk.SummaryFormat.Summary;
import io.cairn.dataserver.wal.Completeness;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The bytes of keys and values must never change; short or altered ones are refused. */
class ChunkFormatsTest {
    @Test
    void keys() {
        assertHex(ChunkKeys.diskState(), "44");
        assertHex(ChunkKeys.pgState(0x00010002), "5000010002");
        assertHex(ChunkKeys.scrubs(0x00010002), "5600010002");
        assertHex(
                ChunkKeys.inodeHead(0x00010002, 0x1122334455667788L),
                "43000100021122334455667788" + "00");
        assertHex(
                ChunkKeys.chunkHead(0x00010002, 0x1122334455667788L, 9),
                "43000100021122334455667788" + "0100000009");
        assertHex(ChunkKeys.summary(), "53");
        assertHex(ChunkKeys.region(0x00010002), "530000010002");
        assertHex(ChunkKeys.filterPage(0x00010002), "530100010002");
        byte[] group = ChunkKeys.group(0x00010002, 0x1122334455667788L, 9, 3);
        assertHex(group, "43000100021122334455667788" + "010000000900000003");
        assertThat(ChunkKeys.isGroup(group)).isTrue();
        assertThat(ChunkKeys.pgOf(group)).isEqualTo(0x00010002);
        assertThat(ChunkKeys.inodeOf(group)).isEqualTo(0x1122334455667788L);
        assertThat(ChunkKeys.chunkOf(group)).isEqualTo(9);
        assertThat(ChunkKeys.groupOf(group)).isEqualTo(3);
    }

    @Test
    void chunkHead() {
        ChunkHead head = new ChunkHead(3, 7, 2, 5000);
        byte[] bytes = ChunkHeadFormat.encode(head);
        assertHex(bytes, "03000000000000000700000000000000020000000000000088130000b7555bcc");
        assertThat(ChunkHeadFormat.decode(bytes)).isEqualTo(head);
        assertRefused(bytes, ChunkHeadFormat::decode);
    }

    @Test
    void inodeHead() {
        byte[] bytes = InodeHeadFormat.encode(77);
        assertHex(bytes, "4d00000000000000288232bc");
        assertThat(InodeHeadFormat.decode(bytes)).isEqualTo(77);
        assertRefused(bytes, InodeHeadFormat::decode);
    }

    @Test
    void scrubStamps() {
        ScrubStamps stamps = new ScrubStamps(1, 2, 3, 4);
        byte[] bytes = ScrubStampsFormat.encode(stamps);
        assertHex(bytes, "01000000000000000200000000000000030000000000000004000000" + "84eeeb13");
        assertThat(ScrubStampsFormat.decode(bytes)).isEqualTo(stamps);
        assertRefused(bytes, ScrubStampsFormat::decode);
    }

    @Test
    void quarantine() {
        byte[] bytes = QuarantineFormat.encode("no\u00fc");
        assertHex(bytes, "04000000" + "6e6fc3bc" + "03025246");
        assertThat(QuarantineFormat.decode(bytes)).isEqualTo("no\u00fc");
        assertRefused(bytes, QuarantineFormat::decode);
        byte[] longest = QuarantineFormat.encode("x".repeat(5000));
        assertThat(QuarantineFormat.decode(longest)).isEqualTo("x".repeat(1024));
    }

    @Test
    void quarantinedBlock() {
        BadBlock block = new BadBlock(0x10002, 0x1122334455667788L, 3, 4);
        byte[] key = ChunkKeys.quarantined(block);
        assertThat(HexFormat.of().formatHex(key))
                .isEqualTo("51" + "00010002" + "1122334455667788" + "00000003" + "00000004");
        assertThat(ChunkKeys.badBlock(key)).isEqualTo(block);
    }

    @Test
    void findings() {
        byte[] bytes = FindingsFormat.encode(List.of("ab", "", "c"));
        assertHex(
                bytes,
                "03000000" + "02000000" + "6162" + "00000000" + "01000000" + "63" + "1bd99e11");
        assertThat(FindingsFormat.decode(bytes)).containsExactly("ab", "", "c");
        assertRefused(bytes, FindingsFormat::decode);
        byte[] most = FindingsFormat.encode(Collections.nCopies(20, "x"));
        assertThat(FindingsFormat.decode(most)).hasSize(16);
    }

    @Test
    void diskState() {
        DiskState state = new DiskState(new UUID(1, 2), 99, 12);
        byte[] bytes = DiskStateFormat.encode(state);
        assertHex(
                bytes,
                "020000000c000000010000000000000002000000000000006300000000000000" + "da245ce7");
        assertThat(DiskStateFormat.decode(bytes)).isEqualTo(state);
        assertRefused(bytes, DiskStateFormat::decode);
    }

    @Test
    void diskStateOfAnEarlierRelease() {
        byte[] bytes =
                HexFormat.of()
                        .parseHex(
                                "010000000c0000000100000000000000"
                                        + "020000000000000063000000000000008755b7a1");
        assertThat(DiskStateFormat.decode(bytes)).isEqualTo(new DiskState(new UUID(1, 2), 99, 12));
    }

    @Test
    void bitPage() {
        long[] words = new long[BitPageFormat.WORDS];
        words[0] = 0x1122334455667788L;
        words[63] = 1L << 63;
        byte[] bytes = BitPageFormat.encode(words);
        assertHex(bytes, "8877665544332211" + "00".repeat(62 * 8 + 7) + "80" + "2b298ed4");
        assertThat(BitPageFormat.decode(bytes)).isEqualTo(words);
        assertRefused(bytes, BitPageFormat::decode);
    }

    @Test
    void summary() {
        Summary summary = new Summary(new PageSum(7, 8), new PageSum(9, -2));
        byte[] bytes = SummaryFormat.encode(summary);
        assertHex(
                bytes,
                "0100000000000000070000000000000008000000000000000900000000000000"
                        + "feffffffffffffff718f5602");
        assertThat(SummaryFormat.decode(bytes)).isEqualTo(summary);
        assertRefused(bytes, SummaryFormat::decode);
    }

    /** The digests stand in the summary: they must never be counted otherwise. */
    @Test
    void pageSum() {
        long[] words = new long[BitPageFormat.WORDS];
        words[3] = 5;
        byte[] bytes = BitPageFormat.encode(words);
        PageSum sum = PageSum.EMPTY.with(7, words, bytes);
        assertThat(sum).isEqualTo(new PageSum(2, 6004827187706776990L));
        assertThat(sum.with(8, words, bytes).without(7, words, bytes))
                .isEqualTo(PageSum.EMPTY.with(8, words, bytes))
                .isNotEqualTo(sum);
    }

    @Test
    void blockGroup() {
        BlockGroup g = new BlockGroup();
        g.set(0, 100, 0x11, 0);
        g.set(1, 101, 0x22, 0);
        g.damage(5);
        g.set(63, 7, 0x33, 0);
        byte[] bytes = BlockGroupFormat.encode(g);
        assertHex(
                bytes,
                "0300000000000080200000000000000002000000640000000000000002000000"
                        + "0700000000000000010000001100000022000000330000006e1b7899");
        BlockGroup back = BlockGroupFormat.decode(bytes);
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            assertThat(back.location(i)).isEqualTo(g.location(i));
            assertThat(back.crc(i)).isEqualTo(g.crc(i));
        }
        assertRefused(bytes, BlockGroupFormat::decode);
    }

    @Test
    void blockGroupWithSequences() {
        BlockGroup g = new BlockGroup();
        g.set(0, 100, 0x11, 0x1234);
        g.set(1, 101, 0x22, 0x1234 - 200);
        g.set(63, 7, 0x33, 0);
        byte[] bytes = BlockGroupFormat.encode(g);
        assertHex(
                bytes,
                "0300000000000080000000000000000002000080640000000000000002000000"
                        + "0700000000000000010000001100000022000000330000003412000000000000"
                        + "00c801b42487484c19");
        BlockGroup back = BlockGroupFormat.decode(bytes);
        for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
            assertThat(back.location(i)).isEqualTo(g.location(i));
            assertThat(back.crc(i)).isEqualTo(g.crc(i));
            assertThat(back.changed(i)).isEqualTo(g.changed(i));
        }
        assertRefused(bytes, BlockGroupFormat::decode);
    }

    /** The checksum holds, and yet they cannot be. */
    @Test
    void sequencesThatCannotBe() {
        String start =
                "0100000000000000000000000000000001000080640000000000000001000000"
                        + "110000000500000000000000";
        assertThat(BlockGroupFormat.decode(sealed(start + "05")).changed(0)).isZero();
        for (String bad : List.of("", "06", "0500", "85", "ffffffffffffffffff01")) {
            assertThatThrownBy(() -> BlockGroupFormat.decode(sealed(start + bad)))
                    .as(bad)
                    .isInstanceOf(IndexDamagedException.class);
        }
    }

    private static byte[] sealed(String hex) {
        byte[] content = HexFormat.of().parseHex(hex);
        return IndexValue.seal(IndexValue.allocate(content.length).put(content));
    }

    @Test
    void pgState() {
        PgLogState state =
                new PgLogState(
                        5,
                        2,
                        9,
                        9,
                        9,
                        List.of(new EpochStart(1, 1), new EpochStart(2, 6)),
                        List.of(new Answered(0xabc, 4, new long[] {4, 6})));
        byte[] bytes = PgStateFormat.encode(state);
        assertHex(
                bytes,
                "0100000002000000010000000000000002000000000000000900000000000000"
                        + "0100000000000000010000000000000002000000000000000600000000000000"
                        + "bc0a000000000000040000000000000002000000040000000000000006000000"
                        + "0000000027ce2067");
        PgLogState back = PgStateFormat.decode(5, bytes);
        assertThat(back).usingRecursiveComparison().isEqualTo(state);
        assertRefused(bytes, b -> PgStateFormat.decode(5, b));
    }

    @Test
    void pgStateWithDeferredOperations() {
        PgLogState state =
                new PgLogState(
                        5,
                        2,
                        9,
                        9,
                        9,
                        List.of(new EpochStart(1, 1), new EpochStart(2, 6)),
                        List.of(new Answered(0xabc, 4, new long[] {4, 6})),
                        List.of(new ChunkVersion(1, 5), new ChunkVersion(2, 8)),
                        Completeness.ALL,
                        0);
        byte[] bytes = PgStateFormat.encode(state);
        assertHex(
                bytes,
                "0200000002000000010000000200000002000000000000000900000000000000"
                        + "0100000000000000010000000000000002000000000000000600000000000000"
                        + "bc0a000000000000040000000000000002000000040000000000000006000000"
                        + "0000000001000000000000000500000000000000020000000000000008000000"
                        + "000000006192c53b");
        PgLogState back = PgStateFormat.decode(5, bytes);
        assertThat(back).usingRecursiveComparison().isEqualTo(state);
        assertRefused(bytes, b -> PgStateFormat.decode(5, b));
    }

    @Test
    void pgStateOfALearner() {
        PgLogState state =
                new PgLogState(
                        5,
                        2,
                        9,
                        9,
                        9,
                        List.of(new EpochStart(2, 9)),
                        List.of(new Answered(0xabc, 4, new long[] {4})),
                        List.of(new ChunkVersion(0, 3)),
                        Completeness.upTo(6),
                        4);
        byte[] bytes = PgStateFormat.encode(state);
        assertHex(
                bytes,
                "0400000001000000010000000100000002000000000000000900000000000000"
                        + "02000000000000000900000000000000bc0a0000000000000400000000000000"
                        + "0100000004000000000000000000000000000000030000000000000006000000"
                        + "000000000400000000000000ef642dc7");
        PgLogState back = PgStateFormat.decode(5, bytes);
        assertThat(back).usingRecursiveComparison().isEqualTo(state);
        assertThat(back.isComplete()).isFalse();
        assertRefused(bytes, b -> PgStateFormat.decode(5, b));
    }

    @Test
    void pgStateOfALearnerToWhichSomeWasCopied() {
        PgLogState state =
                new PgLogState(
                        5,
                        2,
                        9,
                        9,
                        9,
                        List.of(new EpochStart(2, 9)),
                        List.of(),
                        List.of(),
                        new Completeness(6, 0x1234, 7, 8),
                        4);
        byte[] bytes = PgStateFormat.encode(state);
        assertHex(
                bytes,
                "0500000001000000000000000000000002000000000000000900000000000000"
                        + "0200000000000000090000000000000006000000000000000400000000000000"
                        + "34120000000000000700000008000000000000003b983830");
        PgLogState back = PgStateFormat.decode(5, bytes);
        assertThat(back).usingRecursiveComparison().isEqualTo(state);
        assertRefused(bytes, b -> PgStateFormat.decode(5, b));
    }

    /** What it had when a copy was cut off may be gone. */
    @Test
    void pgStateOfALearnerThatKeptNothing() {
        String old =
                "0300000001000000010000000100000002000000000000000900000000000000"
                        + "02000000000000000900000000000000bc0a0000000000000400000000000000"
                        + "0100000004000000000000000000000000000000030000000000000006000000"
                        + "0000000004000000000000009fdaa22b";
        PgLogState back = PgStateFormat.decode(5, HexFormat.of().parseHex(old));
        assertThat(back.content()).isEqualTo(Completeness.NOTHING);
        assertThat(back.steps()).isEqualTo(4);
    }

    @Test
    void answered() {
        List<Answered> some =
                List.of(
                        new Answered(0xabc, 4, new long[] {4, 6}),
                        new Answered(-1, 0, new long[0]));
        ByteBuffer bytes = AnsweredFormat.encode(some);
        assertHex(
                bytes.array(),
                "bc0a000000000000040000000000000002000000040000000000000006000000"
                        + "00000000ffffffffffffffff000000000000000000000000");
        assertThat(AnsweredFormat.decode(bytes)).usingRecursiveComparison().isEqualTo(some);
        for (int length = 0; length < bytes.capacity(); length++) {
            ByteBuffer part = bytes.slice(0, length);
            if (length == 0 || length == 36) { // whole sessions
                assertThat(AnsweredFormat.decode(part)).hasSize(length / 36);
            } else {
                assertThatThrownBy(() -> AnsweredFormat.decode(part))
                        .isInstanceOf(IndexDamagedException.class);
            }
        }
        byte[] hostile = bytes.array().clone();
        hostile[19] = (byte) 0x7f;
        assertThatThrownBy(() -> AnsweredFormat.decode(ByteBuffer.wrap(hostile)))
                .isInstanceOf(IndexDamagedException.class);
    }

    private static void assertHex(byte[] bytes, String expected) {
        assertThat(HexFormat.of().formatHex(bytes)).isEqualTo(expected);
    }

    private static void assertRefused(byte[] good, Consumer<byte[]> decode) {
        for (int length = 0; length < good.length; length++) {
            byte[] part = Arrays.copyOf(good, length);
            assertThatThrownBy(() -> decode.accept(part)).isInstanceOf(IndexDamagedException.class);
        }
        for (int i = 0; i < good.length; i++) {
            byte[] bad = good.clone();
            bad[i] ^= 0x10;
            assertThatThrownBy(() -> decode.accept(bad)).isInstanceOf(IndexDamagedException.class);
        }
    }
}
