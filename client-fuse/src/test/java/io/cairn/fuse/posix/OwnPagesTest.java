package io.cairn.fuse.posix;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Pages that the kernel keeps from one open to the next: of what this mount has written itself,
 * unless another client has changed the file, or this mount has otherwise than through its pages.
 */
class OwnPagesTest {
    private static final int PAGE = 4096;
    private static final int F_SETFL = 4;
    private static final int PUNCH_HOLE_KEEP_SIZE = 3;

    @RegisterExtension final MountedMemory memory = new MountedMemory();

    private int open(int flags) {
        int fd = Posix.open(memory.path("a"), flags, 0644);
        assertThat(fd).isNotNegative();
        return fd;
    }

    private static byte[] filled(int bytes, char with) {
        byte[] content = new byte[bytes];
        Arrays.fill(content, (byte) with);
        return content;
    }

    private void write(int flags, byte[] data, long offset) {
        int fd = open(flags);
        assertThat(Posix.pwrite(fd, data, offset)).isEqualTo(data.length);
        Posix.close(fd);
    }

    private void make(int bytes) {
        write(Posix.O_WRONLY | Posix.O_CREAT, filled(bytes, 'x'), 0);
    }

    private byte[] content() {
        int fd = open(Posix.O_RDONLY);
        byte[] bytes = Posix.pread(fd, 1 << 20, 0).bytes();
        Posix.close(fd);
        return bytes;
    }

    private int reads() {
        return memory.client().calls("read");
    }

    private void isReadFromPages(byte[] expected) {
        int before = reads();
        assertThat(content()).isEqualTo(expected);
        assertThat(reads()).as("requests of the kernel").isEqualTo(before);
    }

    @Test
    void whatWasWrittenNeedNotBeRead() {
        make(4 * PAGE);
        isReadFromPages(filled(4 * PAGE, 'x'));
        isReadFromPages(filled(4 * PAGE, 'x'));
    }

    /** Linux does not know what lies behind it in the page, though it is the end of the file. */
    @Test
    void ofAPageThatWasWrittenInPartOnlyThatOneIsRead() {
        make(4 * PAGE + 100);
        int before = reads();
        assertThat(content()).isEqualTo(filled(4 * PAGE + 100, 'x'));
        assertThat(reads()).isEqualTo(before + 1);
    }

    enum Change {
        CHMOD,
        UTIMENS,
        RENAME,
        LINK,
        XATTR
    }

    @ParameterizedTest
    @EnumSource(Change.class)
    void otherChangesByThisMountLeaveThePages(Change change) {
        make(PAGE);
        byte[] path = memory.path("a");
        byte[] other = memory.path("b");
        int result =
                switch (change) {
                    case CHMOD -> Posix.call("chmod", path, 0600);
                    case UTIMENS -> Posix.utimens(path, 1, 2, 3, 4);
                    case RENAME ->
                            Posix.call("rename", path, other) + Posix.call("rename", other, path);
                    case LINK -> Posix.call("link", path, other);
                    case XATTR -> Posix.setxattr(path, "user.a", new byte[1], 0);
                };
        assertThat(result).isZero();
        isReadFromPages(filled(PAGE, 'x'));
    }

    @Test
    void whatIsWrittenOverPagesThatWereReadIsInThem() {
        memory.client().createElsewhere("a".getBytes(UTF_8), 0644);
        memory.client().overwriteElsewhere("a".getBytes(UTF_8), filled(2 * PAGE, 'o'));
        assertThat(content()).isEqualTo(filled(2 * PAGE, 'o'));
        write(Posix.O_WRONLY, filled(10, 'n'), PAGE + 7);
        byte[] expected = filled(2 * PAGE, 'o');
        Arrays.fill(expected, PAGE + 7, PAGE + 17, (byte) 'n');
        isReadFromPages(expected);
    }

    @Test
    void whatIsWrittenAnewAfterATruncationIsInThem() {
        make(2 * PAGE);
        write(Posix.O_WRONLY | Posix.O_TRUNC, filled(PAGE, 'n'), 0);
        isReadFromPages(filled(PAGE, 'n'));
    }

    @Test
    void whatAnotherClientHasWrittenSinceIsRead() {
        make(PAGE);
        memory.client().overwriteElsewhere("a".getBytes(UTF_8), filled(PAGE, 'o'));
        assertThat(content()).isEqualTo(filled(PAGE, 'o'));
    }

    @Test
    void whatAnotherClientHasWrittenBetweenTwoWritesIsRead() {
        make(2 * PAGE);
        int fd = open(Posix.O_WRONLY);
        assertThat(Posix.pwrite(fd, filled(10, 'a'), 0)).isEqualTo(10);
        memory.client().overwriteElsewhere("a".getBytes(UTF_8), filled(2 * PAGE, 'o'));
        assertThat(Posix.pwrite(fd, filled(10, 'b'), PAGE)).isEqualTo(10);
        Posix.close(fd);
        byte[] expected = filled(2 * PAGE, 'o');
        Arrays.fill(expected, PAGE, PAGE + 10, (byte) 'b');
        assertThat(content()).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(ints = {Posix.O_APPEND, Posix.O_APPEND | Posix.O_DSYNC})
    void whatWasAppendedIsRead(int flags) {
        make(100);
        assertThat(content()).hasSize(100);
        write(Posix.O_WRONLY | flags, filled(50, 'y'), 0);
        byte[] expected = filled(150, 'y');
        Arrays.fill(expected, 0, 100, (byte) 'x');
        assertThat(content()).isEqualTo(expected);
    }

    @Test
    void whatWasWrittenPastThePagesIsRead() {
        make(2 * PAGE);
        assertThat(content()).isEqualTo(filled(2 * PAGE, 'x'));
        write(Posix.O_WRONLY | Posix.O_DIRECT, filled(PAGE, 'd'), PAGE);
        byte[] expected = filled(2 * PAGE, 'd');
        Arrays.fill(expected, 0, PAGE, (byte) 'x');
        assertThat(content()).isEqualTo(expected);
    }

    /** The handle was opened before, and reads only after. */
    @Test
    void whoHadItOpenThenKeepsNoPagesForOthers() {
        make(2 * PAGE);
        int early = open(Posix.O_RDWR);
        write(Posix.O_WRONLY | Posix.O_DIRECT, filled(PAGE, 'd'), PAGE);
        assertThat(Posix.pread(early, 10, 0).bytes()).isEqualTo(filled(10, 'x'));
        assertThat(Posix.pwrite(early, filled(10, 'x'), 0)).isEqualTo(10);
        Posix.close(early);
        byte[] expected = filled(2 * PAGE, 'd');
        Arrays.fill(expected, 0, PAGE, (byte) 'x');
        assertThat(content()).isEqualTo(expected);
    }

    @Test
    void whatAFlagThatWasSetLaterHasWrittenPastThemIsRead() {
        make(PAGE);
        int fd = open(Posix.O_RDWR);
        assertThat(Posix.pread(fd, PAGE, 0).bytes()).isEqualTo(filled(PAGE, 'x'));
        assertThat(Posix.call("fcntl", fd, F_SETFL, Posix.O_DIRECT)).isZero();
        assertThat(Posix.pwrite(fd, filled(PAGE, 'd'), 0)).isEqualTo(PAGE);
        Posix.close(fd);
        assertThat(content()).isEqualTo(filled(PAGE, 'd'));
    }

    @Test
    void holesThatWerePunchedAreRead() {
        make(2 * PAGE);
        int fd = open(Posix.O_RDWR);
        assertThat(Posix.call("fallocate", fd, PUNCH_HOLE_KEEP_SIZE, 100L, 5000L)).isZero();
        Posix.close(fd);
        byte[] expected = filled(2 * PAGE, 'x');
        Arrays.fill(expected, 100, 5100, (byte) 0);
        assertThat(content()).isEqualTo(expected);
    }

    @Test
    void whatAWriteThatFailedHasLeftIsRead() {
        make(2 * PAGE);
        assertThat(content()).hasSize(2 * PAGE);
        memory.client().failInPart(true);
        int fd = open(Posix.O_WRONLY);
        assertThat(Posix.pwrite(fd, filled(2 * PAGE, 'f'), 0)).isNegative();
        memory.client().failInPart(false);
        Posix.close(fd);
        assertThat(Posix.call("chmod", memory.path("a"), 0600)).isZero();
        byte[] expected = filled(2 * PAGE, 'f');
        Arrays.fill(expected, PAGE, 2 * PAGE, (byte) 'x');
        int before = reads();
        assertThat(content()).isEqualTo(expected);
        assertThat(reads()).isGreaterThan(before);
    }

    @Test
    void aTruncationToAnotherSizeDropsThem() {
        make(2 * PAGE);
        int fd = open(Posix.O_RDWR);
        assertThat(Posix.call("ftruncate", fd, (long) PAGE)).isZero();
        assertThat(Posix.call("ftruncate", fd, 2L * PAGE)).isZero();
        Posix.close(fd);
        byte[] expected = filled(2 * PAGE, '\0');
        Arrays.fill(expected, 0, PAGE, (byte) 'x');
        assertThat(content()).isEqualTo(expected);
    }

    @Test
    void nothingIsLeftOfAnEarlierSession() {
        make(PAGE);
        memory.client().newSession();
        int before = reads();
        assertThat(content()).isEqualTo(filled(PAGE, 'x'));
        assertThat(reads()).isGreaterThan(before);
    }
}
