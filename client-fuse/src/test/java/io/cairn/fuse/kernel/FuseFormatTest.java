package io.cairn.fuse.kernel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.StatFsReply;
import io.cairn.common.proto.Timespec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The bytes of every message, on a little-endian machine. */
class FuseFormatTest {
    private final MemorySegment memory = Arena.ofAuto().allocate(1024, 8);

    private static final Attr ATTR =
            Attr.newBuilder()
                    .setInode(0x0102030405060708L)
                    .setMode(0100644)
                    .setNlink(2)
                    .setUid(1000)
                    .setGid(1001)
                    .setRdev(0)
                    .setSize(1025)
                    .setAtime(time(1, 2))
                    .setMtime(time(-1, 4))
                    .setCtime(time(5, 6))
                    .setBtime(time(7, 8))
                    .setLayout(FileLayout.newBuilder().setStripeUnit(4 << 20))
                    .build();

    private static final String ATTR_BYTES =
            "0807060504030201 0104000000000000 0300000000000000"
                    + "0100000000000000 ffffffffffffffff 0500000000000000"
                    + "02000000 04000000 06000000 a4810000 02000000"
                    + "e8030000 e9030000 00000000 00000100 00000000";

    private static Timespec time(long seconds, int nanos) {
        return Timespec.newBuilder().setSeconds(seconds).setNanos(nanos).build();
    }

    private void written(int size, String hex) {
        String expected = hex.replace(" ", "");
        assertThat(expected).hasSize(2 * size);
        assertThat(HexFormat.of().formatHex(memory.asSlice(0, size).toArray(JAVA_BYTE)))
                .isEqualTo(expected);
    }

    private static MemorySegment read(String hex) {
        return MemorySegment.ofArray(HexFormat.of().parseHex(hex.replace(" ", "")));
    }

    @Test
    void locks() {
        MemorySegment in =
                read(
                        "0700000000000000 efcdab8967452301 0a00000000000000 ffffffffffffff7f"
                                + "01000000 39300000 01000000 00000000");
        assertThat(in.byteSize()).isEqualTo(LockFormat.IN_SIZE);
        assertThat(FileFormat.handle(in)).isEqualTo(7);
        assertThat(LockFormat.owner(in)).isEqualTo(0x0123456789abcdefL);
        assertThat(LockFormat.start(in)).isEqualTo(10);
        assertThat(LockFormat.end(in)).isEqualTo(Long.MAX_VALUE);
        assertThat(LockFormat.isExclusive(in)).isTrue();
        assertThat(LockFormat.isUnlock(in)).isFalse();
        assertThat(LockFormat.pid(in)).isEqualTo(12345);
        assertThat(LockFormat.isFlock(in)).isTrue();
        LockFormat.putOut(memory, 10, 19, true, 12345);
        written(24, "0a00000000000000 1300000000000000 01000000 39300000");
        LockFormat.putFree(memory);
        written(24, "0000000000000000 0000000000000000 02000000 00000000");
    }

    @Test
    void headers() {
        MemorySegment in =
                read(
                        "29000000 01000000 0a00000000000000 0700000000000000"
                                + "e8030000 e9030000 39300000 0000 0000");
        assertThat(in.byteSize()).isEqualTo(HeaderFormat.IN_SIZE);
        assertThat(HeaderFormat.length(in)).isEqualTo(41);
        assertThat(HeaderFormat.opcode(in)).isEqualTo(1);
        assertThat(HeaderFormat.unique(in)).isEqualTo(10);
        assertThat(HeaderFormat.node(in)).isEqualTo(7);
        assertThat(HeaderFormat.uid(in)).isEqualTo(1000);
        assertThat(HeaderFormat.gid(in)).isEqualTo(1001);
        assertThat(HeaderFormat.pid(in)).isEqualTo(12345);
        HeaderFormat.putOut(memory, 16, 2, 10);
        written(16, "10000000 feffffff 0a00000000000000");
    }

    @Test
    void init() {
        MemorySegment in = read("07000000 2d000000 00000200 ffffff7f 03000000");
        assertThat(InitFormat.major(in)).isEqualTo(7);
        assertThat(InitFormat.minor(in)).isEqualTo(45);
        assertThat(InitFormat.maxReadahead(in)).isEqualTo(131_072);
        assertThat(InitFormat.flags(in)).isEqualTo(0x3_7fffffffL);
        assertThat(InitFormat.flags(in.asSlice(0, 16))).isEqualTo(0x7fffffffL);
        InitFormat.Out out =
                new InitFormat.Out(45, 1 << 20, 0x10_40000001L, 512, 384, 1 << 20, 4096);
        InitFormat.putOut(memory, out);
        written(
                64,
                "07000000 2d000000 00001000 01000040 0002 8001 00001000 01000000"
                        + "0001 0000 10000000 00000000"
                        + "00".repeat(24));
        InitFormat.putVersionOnly(memory);
        written(64, "07000000 2d000000" + "00".repeat(56));
    }

    @Test
    void attributes() {
        AttrFormat.put(memory, 0, ATTR);
        written(AttrFormat.SIZE, ATTR_BYTES);
        AttrFormat.putAttrOut(memory, ATTR, 1_500_000_000);
        written(AttrFormat.ATTR_OUT_SIZE, "0100000000000000 0065cd1d 00000000" + ATTR_BYTES);
        AttrFormat.putEntryOut(memory, 0, 9, ATTR, 2_000_000_001L, 3_000_000_002L);
        written(
                AttrFormat.ENTRY_OUT_SIZE,
                "0900000000000000 0000000000000000 0200000000000000 0300000000000000"
                        + "01000000 02000000"
                        + ATTR_BYTES);
    }

    @Test
    void statx() {
        StatxFormat.putOut(memory, ATTR.toBuilder().setRdev(0x1234_5678).build(), 1_000_000_000);
        written(
                StatxFormat.OUT_SIZE,
                "0100000000000000 00000000 00000000"
                        + "00".repeat(16)
                        + "ff0f0000 00000100 0000000000000000 02000000 e8030000 e9030000 a481 0000"
                        + "0807060504030201 0104000000000000 0300000000000000 0000000000000000"
                        + "0100000000000000 02000000 00000000 0700000000000000 08000000 00000000"
                        + "0500000000000000 06000000 00000000 ffffffffffffffff 04000000 00000000"
                        + "56040000 78230100 00000000 00000000"
                        + "00".repeat(112));
    }

    @Test
    void setattr() {
        MemorySegment in =
                read(
                        "ff010000 00000000 0100000000000000 0002000000000000 0000000000000000"
                                + "0300000000000000 0400000000000000 0500000000000000"
                                + "06000000 07000000 08000000 a4810000 00000000"
                                + "e8030000 e9030000 00000000");
        assertThat(in.byteSize()).isEqualTo(SetAttrFormat.SIZE);
        Timespec now = time(99, 1);
        SetAttrOp all = SetAttrFormat.decode(in, 5, now);
        assertThat(all)
                .isEqualTo(
                        SetAttrOp.newBuilder()
                                .setInode(5)
                                .setMode(0644)
                                .setUid(1000)
                                .setGid(1001)
                                .setSize(512)
                                .setAtime(now)
                                .setMtime(now)
                                .setMtimeNow(true)
                                .setKillSuidSgid(true)
                                .build());
        MemorySegment times = MemorySegment.ofArray(in.toArray(JAVA_BYTE));
        times.set(JAVA_BYTE, 0, (byte) 0x30);
        times.set(JAVA_BYTE, 1, (byte) 0);
        assertThat(SetAttrFormat.decode(times, 5, now))
                .isEqualTo(
                        SetAttrOp.newBuilder()
                                .setInode(5)
                                .setAtime(time(3, 6))
                                .setMtime(time(4, 7))
                                .build());
    }

    @Test
    void names() {
        MemorySegment mknod = read("b6210000 05080000 12000000 00000000");
        assertThat(NameFormat.mknodMode(mknod)).isEqualTo(0020644);
        assertThat(NameFormat.mknodRdev(mknod)).isEqualTo(0x805);
        assertThat(NameFormat.mkdirMode(read("ff050000 12000000"))).isEqualTo(02755);
        MemorySegment rename = read("0900000000000000 02000000 00000000");
        assertThat(NameFormat.newParent(rename)).isEqualTo(9);
        assertThat(NameFormat.rename2Flags(rename)).isEqualTo(2);
        assertThat(NameFormat.linkTarget(read("0800000000000000"))).isEqualTo(8);
    }

    @Test
    void files() {
        MemorySegment create = read("42800000 b6810000 3f000000 00000000");
        assertThat(FileFormat.openFlags(create)).isEqualTo(0x8042);
        assertThat(FileFormat.createMode(create)).isEqualTo(0100600);
        MemorySegment write =
                read(
                        "0100000000000000 0010000000000000 00020000 04000000 0000000000000000"
                                + "01100000 00000000");
        assertThat(write.byteSize()).isEqualTo(FileFormat.WRITE_SIZE);
        assertThat(FileFormat.handle(write)).isEqualTo(1);
        assertThat(FileFormat.offset(write)).isEqualTo(4096);
        assertThat(FileFormat.size(write)).isEqualTo(512);
        assertThat(FileFormat.writeKillsPrivileges(write)).isTrue();
        assertThat(FileFormat.writeFlags(write)).isEqualTo(1 | OpenFlag.O_DSYNC);
        assertThat(FileFormat.writeAppends(write)).isFalse();
        String zeros = "00".repeat(20);
        assertThat(
                        FileFormat.writeAppends(
                                read(
                                        zeros
                                                + "00000000"
                                                + zeros.substring(24)
                                                + "01040000 00000000")))
                .isTrue();
        assertThat(
                        FileFormat.writeAppends(
                                read(
                                        zeros
                                                + "01000000"
                                                + zeros.substring(24)
                                                + "01040000 00000000")))
                .as("a page written back")
                .isFalse();
        MemorySegment allocate =
                read("0100000000000000 0200000000000000 0300000000000000 10000000 00000000");
        assertThat(FileFormat.fallocateLength(allocate)).isEqualTo(3);
        assertThat(FileFormat.fallocateMode(allocate)).isEqualTo(16);
        FileFormat.putOpenOut(memory, 0, 3, FileFormat.FOPEN_DIRECT_IO | FileFormat.FOPEN_NOFLUSH);
        written(16, "0300000000000000 21000000 00000000");
        FileFormat.putWriteOut(memory, 512);
        written(8, "00020000 00000000");
    }

    @Test
    void directoryEntries() {
        memory.fill((byte) 0x55);
        DirentFormat.put(memory, 0, 7, 12, Mode.DIRECTORY, new byte[] {'a', (byte) 0xff});
        assertThat(DirentFormat.bytes(2)).isEqualTo(32);
        written(32, "0700000000000000 0c00000000000000 02000000 04000000 61ff 000000000000");
        assertThat(DirentFormat.bytes(8)).isEqualTo(32);
        assertThat(DirentFormat.plusBytes(2)).isEqualTo(160);
        DirentFormat.putNoAttributes(memory, 0);
        written(128, "00".repeat(128));
    }

    @Test
    void extendedAttributesSpaceInterruptsNotifications() {
        MemorySegment set = read("05000000 01000000");
        assertThat(XattrFormat.size(set)).isEqualTo(5);
        assertThat(XattrFormat.setFlags(set)).isEqualTo(1);
        XattrFormat.putSize(memory, 5);
        written(8, "05000000 00000000");
        StatFsFormat.put(
                memory,
                StatFsReply.newBuilder()
                        .setCapacityBytes(40_960)
                        .setFreeBytes(8192)
                        .setInodesUsed(3)
                        .setInodesFree(4)
                        .build());
        written(
                StatFsFormat.SIZE,
                "0a00000000000000 0200000000000000 0200000000000000"
                        + "0700000000000000 0400000000000000 00100000 ff000000 00100000 00000000"
                        + "00".repeat(24));
        StatFsFormat.put(
                memory,
                StatFsReply.newBuilder()
                        .setCapacityBytes(40_960)
                        .setFreeBytes(8192)
                        .setAvailableBytes(4096)
                        .build());
        written(24, "0a00000000000000 0200000000000000 0100000000000000");
        assertThat(ForgetFormat.interruptTarget(read("0a00000000000000"))).isEqualTo(10);
        assertThat(NotifyFormat.putInvalidateAttributes(memory, 9)).isEqualTo(40);
        written(
                40,
                "28000000 02000000 0000000000000000"
                        + "0900000000000000 ffffffffffffffff 0000000000000000");
        assertThat(NotifyFormat.putInvalidatePages(memory, 9, 8192)).isEqualTo(40);
        written(
                40,
                "28000000 02000000 0000000000000000"
                        + "0900000000000000 0020000000000000 0000000000000000");
        assertThat(NotifyFormat.putForgetName(memory, 9, new byte[] {'a', 'b'})).isEqualTo(35);
        written(
                35,
                "23000000 03000000 0000000000000000" + "0900000000000000 02000000 00000000 616200");
        assertThat(NotifyFormat.putForgetNames(memory)).isEqualTo(16);
        written(16, "10000000 08000000 0000000000000000");
    }

    @Test
    void truncatedInputIsNeverReadBeyondItsEnd() {
        MemorySegment write = read("00".repeat(FileFormat.WRITE_SIZE));
        for (int length = 0; length < FileFormat.WRITE_SIZE - 4; length++) {
            MemorySegment cut = write.asSlice(0, length);
            assertThatThrownBy(() -> FileFormat.writeFlags(cut))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Test
    void opcodesAreFoundByNumber() {
        for (FuseOpcode opcode : FuseOpcode.values()) {
            assertThat(FuseOpcode.of(opcode.number())).isEqualTo(opcode);
        }
        assertThat(FuseOpcode.of(0)).isNull();
        assertThat(FuseOpcode.of(63)).isNull();
        assertThat(FuseOpcode.of(4096)).isNull();
        assertThat(FuseOpcode.of(-1)).isNull();
    }
}
