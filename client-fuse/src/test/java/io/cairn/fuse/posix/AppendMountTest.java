package io.cairn.fuse.posix;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.fuse.memory.MemoryClient;
import io.cairn.fuse.posix.Posix.Stat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that are O_APPEND, while another client makes them longer behind the kernel's back. */
class AppendMountTest {
    private static final int MIB = 1 << 20;
    private static final int F_SETFL = 4;
    private static final byte[] NAME = "a".getBytes(UTF_8);

    @RegisterExtension final MountedMemory memory = new MountedMemory();

    private int open(int flags) {
        return Posix.open(memory.path("a"), flags | Posix.O_CREAT, 0644);
    }

    private static void append(int fd, String text) {
        assertThat(Posix.write(fd, text.getBytes(UTF_8))).isEqualTo(text.length());
    }

    private static String read(int fd) {
        return new String(Posix.pread(fd, 4096, 0).bytes(), UTF_8);
    }

    private void elsewhere(String text) {
        memory.client().appendElsewhere(NAME, text.getBytes(UTF_8));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, Posix.O_DSYNC})
    void recordsFollowEachOtherWhoeverAppends(int flags) {
        int fd = open(Posix.O_RDWR | Posix.O_APPEND | flags);
        int cached = open(Posix.O_RDONLY);
        StringBuilder expected = new StringBuilder();
        for (int i = 0; i < 50; i++) {
            append(fd, "here " + i + ";");
            elsewhere("there " + i + ";");
            expected.append("here ").append(i).append(";there ").append(i).append(';');
            if (i % 7 == 0) {
                read(cached); // pages for the kernel to put things into
            }
        }
        append(fd, "end");
        String whole = expected + "end";
        // The answer does not wait until the kernel has dropped the pages that were wrong.
        Awaitility.await().untilAsserted(() -> assertThat(read(cached)).isEqualTo(whole));
        assertThat(read(fd)).isEqualTo(whole);
        Stat stat = Posix.fstat(fd);
        assertThat(stat.size()).isEqualTo(whole.length());
        Posix.close(fd);
        Posix.close(cached);
    }

    @Test
    void aFlagThatIsSetLaterCountsAndOneThatIsTakenAwayDoesNot() {
        int fd = open(Posix.O_RDWR);
        append(fd, "abc");
        elsewhere("DEF");
        assertThat(Posix.call("fcntl", fd, F_SETFL, Posix.O_APPEND)).isZero();
        append(fd, "ghi");
        assertThat(Posix.call("fcntl", fd, F_SETFL, 0)).isZero();
        assertThat(Posix.pwrite(fd, "x".getBytes(UTF_8), 1)).isEqualTo(1);
        Awaitility.await().untilAsserted(() -> assertThat(read(fd)).isEqualTo("axcDEFghi"));
        assertThat(memory.client().appends()).hasSize(1);
        Posix.close(fd);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, Posix.O_DSYNC})
    void theLargePiecesOfOneWriteFollowEachOther(int flags) {
        int fd = open(Posix.O_WRONLY | Posix.O_APPEND | flags);
        append(fd, "abc");
        elsewhere("DEF");
        byte[] large = pattern(3 * MIB + 5000);
        assertThat(Posix.write(fd, large)).isEqualTo(large.length);
        checkContent("abcDEF", large);
        assertThat(memory.client().appends().stream().skip(1).map(MemoryClient.Append::goesOn))
                .containsExactly(true, true, true, false);
        Posix.close(fd);
    }

    @Test
    void uncachedOnesToo() {
        int fd = open(Posix.O_WRONLY | Posix.O_APPEND | Posix.O_DIRECT);
        byte[] large = pattern(4 * MIB);
        for (int i = 0; i < 3; i++) {
            assertThat(Posix.write(fd, large)).isEqualTo(large.length);
        }
        elsewhere("DEF");
        assertThat(Posix.write(fd, large)).isEqualTo(large.length);
        int check = open(Posix.O_RDONLY);
        for (int i = 0; i < 4; i++) {
            long at = i * (long) large.length + (i == 3 ? 3 : 0);
            assertThat(Arrays.equals(Posix.pread(check, large.length, at).bytes(), large)).isTrue();
        }
        Posix.close(check);
        Posix.close(fd);
    }

    private void checkContent(String before, byte[] large) {
        int check = open(Posix.O_RDONLY);
        byte[] content = Posix.pread(check, before.length() + large.length + 1, 0).bytes();
        assertThat(content).hasSize(before.length() + large.length);
        assertThat(new String(content, 0, before.length(), UTF_8)).isEqualTo(before);
        assertThat(Arrays.equals(content, before.length(), content.length, large, 0, large.length))
                .isTrue();
        Posix.close(check);
    }

    /** No two MiB of it are alike. */
    private static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i * 31 + (i >>> 12) * 7 + (i >>> 20));
        }
        return bytes;
    }

    /** As a program that follows a log does it. */
    @Test
    void whoFollowsTheFileReadsWhatWasAppendedAndNeverZeros() throws Exception {
        int out = open(Posix.O_WRONLY | Posix.O_APPEND);
        int in = open(Posix.O_RDONLY);
        int lines = 3000;
        Thread writer =
                Thread.ofPlatform()
                        .start(() -> {
                            for (int i = 0; i < lines; i++) {
                                append(out, "line " + i + "\n");
                                if (i % 50 == 0) {
                                    elsewhere("elsewhere\n");
                                }
                            }
                            append(out, "end\n");
                        });
        StringBuilder seen = new StringBuilder();
        while (!seen.toString().endsWith("end\n")) {
            seen.append(new String(Posix.pread(in, 100, seen.length()).bytes(), UTF_8));
            assertThat(seen.indexOf("\0")).as("a zero in " + seen).isNegative();
        }
        writer.join();
        for (int i = 0; i < lines; i++) {
            assertThat(seen.indexOf("line " + i + "\n")).isNotNegative();
        }
        Posix.close(in);
        Posix.close(out);
    }

    @Test
    void aRecordIsOneRequestWhereverItLies() {
        int fd = open(Posix.O_WRONLY | Posix.O_APPEND);
        for (int i = 0; i < 300; i++) {
            append(fd, "x".repeat(100));
        }
        assertThat(memory.client().appends()).hasSize(300);
        Posix.close(fd);
    }

    @Test
    void whatIsWrittenThroughMapsStaysWhereItIs() {
        int fd = open(Posix.O_RDWR | Posix.O_APPEND);
        append(fd, "abcdef");
        long map = Posix.callLong("mmap", MemorySegment.NULL, 4096L, 3, 1, fd, 0L);
        assertThat(map).isPositive();
        MemorySegment page = MemorySegment.ofAddress(map).reinterpret(4096);
        assertThat(page.get(ValueLayout.JAVA_BYTE, 2)).isEqualTo((byte) 'c');
        page.set(ValueLayout.JAVA_BYTE, 2, (byte) 'C');
        elsewhere("GHI");
        append(fd, "jkl");
        assertThat(Posix.call("msync", page, 4096L, 4)).isZero();
        assertThat(read(fd)).isEqualTo("abCdefGHIjkl");
        assertThat(page.get(ValueLayout.JAVA_BYTE, 11)).isEqualTo((byte) 'l');
        assertThat(Posix.call("munmap", page, 4096L)).isZero();
        Posix.close(fd);
    }
}
