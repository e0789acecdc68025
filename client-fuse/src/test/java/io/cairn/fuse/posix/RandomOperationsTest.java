package io.cairn.fuse.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.fuse.posix.Posix.Outcome;
import io.cairn.fuse.posix.Posix.Stat;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * The same random system calls on the mount and on a local directory: results, error numbers,
 * content and attributes must be equal throughout. {@code -Dcairn.test.seed=} repeats a run, {@code
 * -Dcairn.test.operations=} makes it longer.
 */
class RandomOperationsTest {
    private static final int OPERATIONS = Integer.getInteger("cairn.test.operations", 4000);
    private static final int OPEN_FILES = 6;
    private static final int SIZE = 300_000;
    private static final int ENOENT = 2;

    /** Few, so that operations meet; one of bytes that are no UTF-8, one of the longest. */
    private static final byte[][] NAMES = {
        {'a'}, {'b'}, {'c'}, {(byte) 0xff, (byte) 0xfe, '\n', ' '}, longest(),
    };

    @RegisterExtension final MountedMemory memory = new MountedMemory(options());

    private final boolean byInode = byInode();

    @TempDir Path local;

    private final long seed = TestSeed.of("RandomOperationsTest");
    private final Random random = new Random(seed);
    private final List<int[]> open = new ArrayList<>();
    private final List<String> history = new ArrayList<>();
    private int oldUmask;

    /** Of the mount; while this is made. */
    String options() {
        return "";
    }

    /**
     * Whether renameat2(2) has its flags and a file that is open has attributes whatever becomes of
     * the name it was opened by.
     */
    boolean byInode() {
        return true;
    }

    private static byte[] longest() {
        byte[] name = new byte[255];
        Arrays.fill(name, (byte) 'x');
        return name;
    }

    @BeforeEach
    void printSeed() {
        oldUmask = Posix.call("umask", 0027);
        // The mount's root and the local directory start alike.
        Posix.call("chmod", root(0), 0755);
        Posix.call("chmod", root(1), 0755);
    }

    @AfterEach
    void closeAll() {
        open.forEach(pair -> Arrays.stream(pair).forEach(Posix::close));
        Posix.call("umask", oldUmask);
    }

    private byte[] root(int side) {
        return side == 0 ? memory.path("").clone() : MountedMemory.join(local, new byte[0]);
    }

    @Test
    void mountBehavesAsTheLocalFileSystem() throws IOException {
        int operations = byInode ? OPERATIONS : OPERATIONS / 4; // each takes longer by path
        for (int i = 0; i < operations; i++) {
            step();
            if (i % 500 == 499) {
                compareTrees(new byte[0]);
            }
        }
        compareTrees(new byte[0]);
        assertThat(Files.isDirectory(local)).isTrue();
    }

    private void step() {
        byte[] path = path();
        switch (random.nextInt(26)) {
            case 0, 1, 2 -> openFile(path);
            case 3 -> closeFile();
            case 4, 5, 6 -> writeFile();
            case 7, 8 -> readFile();
            case 9 -> both("mkdir", path, (02777 & random.nextInt(02000)) | sgid());
            case 10 -> both("rmdir", path);
            case 11, 12 -> both("unlink", path);
            case 13, 14 -> rename(path, path());
            case 15 -> link(path, path());
            case 16 -> symlink(path);
            case 17 -> both("truncate", path, (long) random.nextInt(SIZE));
            case 18 -> both("chmod", path, random.nextInt(010000) | 0700);
            case 19 -> both("lchown", path, random.nextInt(3), random.nextInt(3));
            case 20 -> times(path);
            case 21 -> xattr(path);
            case 22 -> both("mknod", path, 0010000 | 0666, 0L);
            case 23 -> descriptor();
            case 24 -> fallocate();
            default -> compareStat(path);
        }
    }

    private int sgid() {
        return random.nextInt(4) == 0 ? 02000 : 0;
    }

    private byte[] path() {
        int depth = 1 + random.nextInt(3);
        byte[] path = new byte[0];
        for (int i = 0; i < depth; i++) {
            byte[] name = NAMES[random.nextInt(NAMES.length)];
            byte[] longer = Arrays.copyOf(path, path.length + name.length + (i == 0 ? 0 : 1));
            if (i > 0) {
                longer[path.length] = '/';
            }
            System.arraycopy(name, 0, longer, longer.length - name.length, name.length);
            path = longer;
        }
        return path;
    }

    private byte[] on(int side, byte[] path) {
        return side == 0 ? memory.path(path) : MountedMemory.join(local, path);
    }

    private void both(String function, byte[] path, Object... rest) {
        same(function, path, side -> Posix.call(function, with(on(side, path), rest)));
    }

    private static Object[] with(Object first, Object[] rest) {
        Object[] all = new Object[rest.length + 1];
        all[0] = first;
        System.arraycopy(rest, 0, all, 1, rest.length);
        return all;
    }

    /** What one side answers. */
    private interface Call {
        Object on(int side);
    }

    private void same(String what, byte[] path, Call call) {
        history.add(what + " " + show(path));
        Object expected = call.on(1);
        assertThat(call.on(0)).as(this::recent).isEqualTo(expected);
    }

    private String recent() {
        int from = Math.max(0, history.size() - 12);
        return "seed " + seed + "\n" + String.join("\n", history.subList(from, history.size()));
    }

    private static String show(byte[] path) {
        String text = new String(path, StandardCharsets.ISO_8859_1).replace("x".repeat(255), "X");
        return text.chars().allMatch(c -> c > ' ' && c < 127)
                ? text
                : text + " " + HexFormat.of().formatHex(path);
    }

    private void openFile(byte[] path) {
        if (open.size() == OPEN_FILES) {
            closeFile();
        }
        int[] access = {Posix.O_RDONLY, Posix.O_WRONLY, Posix.O_RDWR, Posix.O_RDWR};
        int flags = access[random.nextInt(access.length)];
        flags |= random.nextBoolean() ? Posix.O_CREAT : 0;
        flags |= random.nextInt(6) == 0 ? Posix.O_EXCL : 0;
        flags |= random.nextInt(6) == 0 ? Posix.O_TRUNC : 0;
        flags |= random.nextInt(6) == 0 ? Posix.O_APPEND : 0;
        flags |= random.nextInt(6) == 0 ? Posix.O_DSYNC : 0;
        // A FIFO would wait for its other end.
        flags |= 04000;
        int asked = flags;
        int mode = random.nextInt(010000);
        int[] pair = new int[2];
        same(
                "open " + Integer.toOctalString(asked),
                path,
                side -> {
                    pair[side] = Posix.open(on(side, path), asked, mode);
                    return Math.min(pair[side], 0);
                });
        if (pair[0] < 0 || pair[1] < 0) {
            return;
        }
        if ((Posix.fstat(pair[1]).mode() & 0xf000) == 0x8000) {
            open.add(pair);
        } else {
            // The kernel opens these without telling us, so they do not outlive their last name.
            Posix.close(pair[0]);
            Posix.close(pair[1]);
        }
    }

    private void closeFile() {
        if (!open.isEmpty()) {
            int[] pair = open.remove(random.nextInt(open.size()));
            same("close", new byte[0], side -> Posix.close(pair[side]));
        }
    }

    private int[] anyOpen() {
        return open.isEmpty() ? new int[] {-1, -1} : open.get(random.nextInt(open.size()));
    }

    private void writeFile() {
        int[] pair = anyOpen();
        byte[] data = new byte[random.nextInt(4) == 0 ? random.nextInt(SIZE) : random.nextInt(99)];
        random.nextBytes(data);
        long offset = random.nextInt(SIZE);
        if (random.nextBoolean()) {
            same("write", new byte[0], side -> Posix.write(pair[side], data));
        } else {
            same("pwrite " + offset, new byte[0], side -> Posix.pwrite(pair[side], data, offset));
        }
    }

    private void readFile() {
        int[] pair = anyOpen();
        int length = random.nextInt(SIZE);
        long offset = random.nextInt(SIZE);
        same("pread " + offset, new byte[0], side -> shown(pair[side], length, offset));
    }

    private static String shown(int fd, int length, long offset) {
        Outcome outcome = Posix.pread(fd, length, offset);
        return outcome.result() + " " + Arrays.hashCode(outcome.bytes());
    }

    private void rename(byte[] from, byte[] to) {
        int flags = byInode ? random.nextInt(3) : 0;
        same(
                "rename " + flags + " " + show(to),
                from,
                side ->
                        Posix.call(
                                "renameat2",
                                Posix.AT_FDCWD,
                                on(side, from),
                                Posix.AT_FDCWD,
                                on(side, to),
                                flags));
    }

    private void link(byte[] from, byte[] to) {
        same("link " + show(to), from, side -> Posix.call("link", on(side, from), on(side, to)));
    }

    private void symlink(byte[] path) {
        String target = random.nextBoolean() ? "b" : "nowhere/" + "t".repeat(random.nextInt(900));
        same("symlink " + target, path, side -> Posix.call("symlink", target, on(side, path)));
    }

    private void times(byte[] path) {
        long seconds = random.nextInt();
        int nanos = random.nextInt(1_000_000_000);
        same(
                "utimens " + seconds,
                path,
                side -> Posix.utimens(on(side, path), seconds, nanos, seconds + 1, nanos));
        same(
                "times",
                path,
                side -> {
                    Stat s = Posix.lstat(on(side, path));
                    return s.error() != 0 ? s.error() : s.mtimeSeconds() + "." + s.mtimeNanos();
                });
    }

    private void xattr(byte[] path) {
        String name = "user." + (char) ('a' + random.nextInt(2));
        byte[] value = new byte[random.nextInt(200)];
        random.nextBytes(value);
        int flags = random.nextInt(3);
        switch (random.nextInt(4)) {
            case 0, 1 ->
                    same(
                            "setxattr " + flags,
                            path,
                            side -> Posix.setxattr(on(side, path), name, value, flags));
            case 2 -> both("lremovexattr", path, name);
            default -> {
                int size = random.nextInt(100);
                same(
                        "getxattr " + size,
                        path,
                        side -> {
                            Outcome o = Posix.getxattr(on(side, path), name, size);
                            return o.result() + HexFormat.of().formatHex(o.bytes());
                        });
            }
        }
    }

    private void descriptor() {
        int[] pair = anyOpen();
        switch (random.nextInt(4)) {
            case 0 -> {
                long size = random.nextInt(SIZE);
                same("ftruncate", new byte[0], side -> Posix.call("ftruncate", pair[side], size));
            }
            case 1 -> same("fsync", new byte[0], side -> Posix.call("fsync", pair[side]));
            case 2 -> {
                if (byInode || hasAttributes(pair)) {
                    same("fchmod", new byte[0], side -> Posix.call("fchmod", pair[side], 06755));
                }
            }
            default -> {
                if (byInode || hasAttributes(pair)) {
                    same("fstat", new byte[0], side -> comparable(Posix.fstat(pair[side])));
                }
            }
        }
    }

    private static boolean hasAttributes(int[] pair) {
        return Posix.fstat(pair[0]).error() != -ENOENT;
    }

    private void fallocate() {
        int[] pair = anyOpen();
        int[] modes = {0, 3, 16, 17};
        int mode = modes[random.nextInt(modes.length)];
        long offset = random.nextInt(SIZE);
        long length = 1L + random.nextInt(SIZE);
        same(
                "fallocate " + mode,
                new byte[0],
                side -> Posix.call("fallocate", pair[side], mode, offset, length));
    }

    private void compareStat(byte[] path) {
        same("lstat", path, side -> comparable(Posix.lstat(on(side, path))));
    }

    /** Sizes and link counts of directories differ between local file systems. */
    private static String comparable(Stat s) {
        if (s.error() != 0) {
            return "error " + s.error();
        }
        String who = Integer.toOctalString(s.mode()) + " " + s.uid() + " " + s.gid();
        return s.isDirectory() ? who : who + " " + s.nlink() + " " + s.size();
    }

    private void compareTrees(byte[] directory) {
        List<byte[]> names = sorted(Posix.list(on(1, directory)));
        assertThat(sorted(Posix.list(on(0, directory))))
                .as(this::recent)
                .usingElementComparator(Arrays::compare)
                .containsExactlyElementsOf(names);
        for (byte[] name : names) {
            byte[] path = join(directory, name);
            compareStat(path);
            Stat s = Posix.lstat(on(1, path));
            if (s.isDirectory()) {
                compareTrees(path);
            } else if ((s.mode() & 0xf000) == 0x8000) {
                compareContent(path, (int) s.size());
            } else if ((s.mode() & 0xf000) == 0xa000) {
                same(
                        "readlink",
                        path,
                        side ->
                                new String(
                                        Posix.readlink(on(side, path)).bytes(),
                                        StandardCharsets.ISO_8859_1));
            }
            same("listxattr", path, side -> xattrNames(on(side, path)));
        }
    }

    private static List<String> xattrNames(byte[] path) {
        String all = new String(Posix.listxattr(path).bytes(), StandardCharsets.ISO_8859_1);
        return Arrays.stream(all.split("\0", -1))
                .filter(n -> n.startsWith("user."))
                .sorted()
                .toList();
    }

    private void compareContent(byte[] path, int size) {
        int[] pair = {Posix.open(on(0, path), 0, 0), Posix.open(on(1, path), 0, 0)};
        same("content", path, side -> shown(pair[side], size + 1, 0));
        Posix.close(pair[0]);
        Posix.close(pair[1]);
    }

    private static byte[] join(byte[] directory, byte[] name) {
        if (directory.length == 0) {
            return name;
        }
        byte[] path = Arrays.copyOf(directory, directory.length + 1 + name.length);
        path[directory.length] = '/';
        System.arraycopy(name, 0, path, directory.length + 1, name.length);
        return path;
    }

    private static List<byte[]> sorted(List<byte[]> names) {
        names.sort(Arrays::compare);
        return names;
    }
}
