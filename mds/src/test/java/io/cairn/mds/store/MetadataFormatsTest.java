package io.cairn.mds.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.Truncation;
import io.cairn.mds.raft.ReplicatedState.Position;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Keys and values of the state, byte for byte: what is on disks out there. */
class MetadataFormatsTest {
    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private static Inode inode(int mode) {
        Inode inode = new Inode(0x1122);
        inode.mode = mode;
        inode.nlink = 2;
        inode.uid = 3;
        inode.gid = 4;
        inode.rdev = 5;
        inode.atime = new Time(-1, 10);
        inode.mtime = new Time(7, 11);
        inode.ctime = new Time(8, 12);
        inode.btime = new Time(9, 13);
        inode.change = 14;
        inode.openers = 15;
        inode.xattrBytes = 16;
        inode.xattrListBytes = 17;
        inode.layout =
                FileLayout.newBuilder()
                        .setPool(18)
                        .setStripeUnit(0x1000)
                        .setStripeCount(19)
                        .setChunkSize(0x400000)
                        .build();
        return inode;
    }

    /** Of all but the type, the truncations and the size. */
    private static String common(String truncations, String mode, String size) {
        return "0100"
                + truncations
                + mode
                + "0200000003000000"
                + "0400000005000000"
                + size
                + "ffffffffffffffff"
                + "0700000000000000"
                + "0800000000000000"
                + "0900000000000000"
                + "0a0000000b000000"
                + "0c0000000d000000"
                + "0e00000000000000"
                + "0f00000010000000"
                + "1100000012000000"
                + "0010000013000000"
                + "0000400000000000";
    }

    private static void roundTrip(Inode inode, String expected) {
        byte[] encoded = InodeFormat.encode(inode);
        assertThat(hex(encoded)).isEqualTo(expected);
        Inode decoded = InodeFormat.decode(inode.id, encoded);
        assertThat(decoded).usingRecursiveComparison().isEqualTo(inode);
        refusesEveryOtherLength(encoded, bytes -> InodeFormat.decode(inode.id, bytes));
    }

    private static void refusesEveryOtherLength(byte[] encoded, Consumer<byte[]> decoder) {
        for (int length = 0; length < encoded.length; length++) {
            byte[] cut = Arrays.copyOf(encoded, length);
            assertThatThrownBy(() -> decoder.accept(cut))
                    .as(length + " bytes")
                    .isInstanceOf(CorruptStateException.class);
        }
        assertThatThrownBy(() -> decoder.accept(Arrays.copyOf(encoded, encoded.length + 1)))
                .isInstanceOf(CorruptStateException.class);
        byte[] later = encoded.clone();
        later[0]++;
        assertThatThrownBy(() -> decoder.accept(later)).isInstanceOf(CorruptStateException.class);
    }

    @Test
    void regularFile() {
        Inode inode = inode(Mode.REGULAR | 0644);
        inode.size = 6;
        inode.ceiling = 0x400000;
        inode.truncateSequence = 21;
        inode.cutSequence = 21;
        inode.truncations =
                List.of(
                        Truncation.newBuilder().setSequence(20).setSize(22).build(),
                        Truncation.newBuilder().setSequence(21).setSize(23).build());
        roundTrip(
                inode,
                common("0200", "a4810000", "0600000000000000")
                        + "0000400000000000"
                        + "1500000000000000"
                        + "14000000000000001600000000000000"
                        + "15000000000000001700000000000000");
    }

    @Test
    void regularFileWithLeftovers() {
        Inode inode = inode(Mode.REGULAR | 0644);
        inode.leftovers = true;
        String expected =
                "0101"
                        + common("0000", "a4810000", "0000000000000000").substring(4)
                        + "0000000000000000"
                        + "0000000000000000";
        roundTrip(inode, expected);
        byte[] later = HexFormat.of().parseHex(expected);
        later[1] = 5;
        assertThatThrownBy(() -> InodeFormat.decode(inode.id, later))
                .as("a flag of a later version")
                .isInstanceOf(CorruptStateException.class);
        byte[] device = InodeFormat.encode(inode(Mode.CHARACTER_DEVICE | 0600));
        device[1] = 1;
        assertThatThrownBy(() -> InodeFormat.decode(inode.id, device))
                .isInstanceOf(CorruptStateException.class);
    }

    @Test
    void regularFileWithAnAppender() {
        Inode inode = inode(Mode.REGULAR | 0644);
        inode.appender = 0x7766;
        inode.truncateSequence = 21;
        inode.cutSequence = 21;
        inode.truncations = List.of(Truncation.newBuilder().setSequence(21).setSize(23).build());
        roundTrip(
                inode,
                "0102"
                        + common("0100", "a4810000", "0000000000000000").substring(4)
                        + "0000000000000000"
                        + "1500000000000000"
                        + "15000000000000001700000000000000"
                        + "6677000000000000");
        inode.leftovers = true;
        assertThat(hex(InodeFormat.encode(inode))).startsWith("0103");
        inode.wasLocked = true;
        assertThat(hex(InodeFormat.encode(inode))).startsWith("0113");
        assertThat(InodeFormat.decode(inode.id, InodeFormat.encode(inode)).wasLocked).isTrue();
    }

    @Test
    void regularFileThatIsMoved() {
        Inode inode = inode(Mode.REGULAR | 0644);
        inode.appender = 0x7766;
        inode.truncateSequence = 21;
        inode.cutSequence = 19;
        inode.truncations = List.of(Truncation.newBuilder().setSequence(21).setSize(23).build());
        inode.mover = 0x5544;
        inode.movingPool = 3;
        inode.fenced = true;
        inode.formerPools = List.of(1, 2);
        roundTrip(
                inode,
                "010e"
                        + common("0100", "a4810000", "0000000000000000").substring(4)
                        + "0000000000000000"
                        + "1500000000000000"
                        + "15000000000000001700000000000000"
                        + "6677000000000000"
                        + "1300000000000000"
                        + "4455000000000000"
                        + "0300000002000000"
                        + "0100000002000000");
    }

    @Test
    void directory() {
        Inode inode = inode(Mode.DIRECTORY | 0755);
        inode.size = 6;
        inode.parent = 0x30;
        inode.nextSequence = 0x31;
        roundTrip(
                inode,
                common("0000", "ed410000", "0600000000000000")
                        + "3000000000000000"
                        + "3100000000000000");
    }

    @Test
    void symbolicLink() {
        Inode inode = inode(Mode.SYMLINK | 0777);
        inode.target = ByteString.copyFromUtf8("to");
        inode.size = 2;
        roundTrip(inode, common("0000", "ffa10000", "0200000000000000") + "746f");
    }

    @Test
    void device() {
        roundTrip(
                inode(Mode.CHARACTER_DEVICE | 0600),
                common("0000", "80210000", "0000000000000000"));
    }

    @Test
    void directoryEntry() {
        Dentry dentry = new Dentry(0x0102, 3, Mode.DIRECTORY);
        byte[] named = DentryFormat.encode(dentry, ByteString.copyFromUtf8("ab"));
        assertThat(hex(named)).isEqualTo("0104" + "0201000000000000" + "0300000000000000" + "6162");
        assertThat(DentryFormat.decode(named)).isEqualTo(dentry);
        assertThat(DentryFormat.name(named).toStringUtf8()).isEqualTo("ab");
        byte[] bare = DentryFormat.encode(dentry, ByteString.EMPTY);
        assertThat(DentryFormat.decode(bare)).isEqualTo(dentry);
        for (int length = 0; length < bare.length; length++) {
            byte[] cut = Arrays.copyOf(bare, length);
            assertThatThrownBy(() -> DentryFormat.decode(cut))
                    .isInstanceOf(CorruptStateException.class);
        }
    }

    @Test
    void position() {
        byte[] encoded = PositionFormat.encode(2, 0x0304);
        assertThat(hex(encoded)).isEqualTo("01" + "0200000000000000" + "0403000000000000");
        assertThat(PositionFormat.decode(encoded)).isEqualTo(new Position(2, 0x0304));
        refusesEveryOtherLength(encoded, PositionFormat::decode);
    }

    @Test
    void counters() {
        Counters counters = new Counters(1, 2, 3, 4, 5, 6, 7, 8, 9);
        byte[] encoded = CountersFormat.encode(counters);
        assertThat(hex(encoded))
                .isEqualTo(
                        "01"
                                + "0100000000000000"
                                + "0200000000000000"
                                + "0300000000000000"
                                + "0400000000000000"
                                + "0500000000000000"
                                + "0600000000000000"
                                + "0700000000000000"
                                + "0800000000000000"
                                + "0900000000000000");
        assertThat(CountersFormat.decode(encoded)).isEqualTo(counters);
        refusesEveryOtherLength(encoded, CountersFormat::decode);
    }

    @Test
    void keys() {
        assertThat(hex(MetaKeys.position())).isEqualTo("00");
        assertThat(hex(MetaKeys.counters())).isEqualTo("01");
        assertThat(hex(MetaKeys.clusterId())).isEqualTo("02");
        assertThat(hex(MetaKeys.of(MetaKeys.INODE, 0x0102))).isEqualTo("10" + "0000000000000102");
        assertThat(hex(MetaKeys.of(MetaKeys.DENTRY, 1, ByteString.copyFromUtf8("ab"))))
                .isEqualTo("11" + "0000000000000001" + "6162");
        assertThat(hex(MetaKeys.of(MetaKeys.DIRECTORY_ORDER, 1, 2)))
                .isEqualTo("12" + "0000000000000001" + "0000000000000002");
        byte[] uuid = new byte[16];
        uuid[15] = 5;
        assertThat(hex(MetaKeys.of(MetaKeys.SESSION_OF, ByteString.copyFrom(uuid))))
                .isEqualTo("21" + "00000000000000000000000000000005");
        assertThat(hex(MetaKeys.of(MetaKeys.OPEN, 6, -1)))
                .isEqualTo("23" + "0000000000000006" + "ffffffffffffffff");
        assertThat(hex(MetaKeys.ofMap(MetaKeys.MAP_PG, 0xffff0001))).isEqualTo("33" + "ffff0001");
        assertThat(hex(MetaKeys.of(MetaKeys.ID_RANGE, 0x0102)))
                .isEqualTo("24" + "0000000000000102");
        assertThat(hex(MetaKeys.ofMap(MetaKeys.UNUSED_IDS, 3, 0x0102)))
                .isEqualTo("1f" + "00000003" + "0000000000000102");
        byte[] key = MetaKeys.of(MetaKeys.ANSWER, 7, 0x8877665544332211L);
        assertThat(MetaKeys.longAt(key, 1)).isEqualTo(7);
        assertThat(MetaKeys.longAt(key, 9)).isEqualTo(0x8877665544332211L);
        assertThat(MetaKeys.intAt(MetaKeys.intValue(0x87654321), 0)).isEqualTo(0x87654321);
        assertThat(MetaKeys.longAt(MetaKeys.longValue(-5), 0)).isEqualTo(-5);
    }

    @Test
    void orderOfKeysIsOrderOfNumbers() {
        assertThat(
                        Arrays.compareUnsigned(
                                MetaKeys.of(MetaKeys.DELETION, 255),
                                MetaKeys.of(MetaKeys.DELETION, 256)))
                .isNegative();
        assertThat(
                        MetaKeys.startsWith(
                                MetaKeys.of(MetaKeys.OPEN, 1, 2), MetaKeys.of(MetaKeys.OPEN, 1)))
                .isTrue();
        assertThat(
                        MetaKeys.startsWith(
                                MetaKeys.of(MetaKeys.OPEN, 2, 2), MetaKeys.of(MetaKeys.OPEN, 1)))
                .isFalse();
    }
}
