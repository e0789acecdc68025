package io.cairn.fuse.op;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Names of extended attributes. Stateless. */
public final class XattrNames {
    private static final byte[] SYSTEM = "system.".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] VIRTUAL = "cairn.".getBytes(StandardCharsets.US_ASCII);

    private XattrNames() {}

    /**
     * Those of the "system." space are refused without asking anyone: access control lists would
     * have to be obeyed, not just kept, and {@code ls -l} asks for them for every file.
     */
    public static boolean refused(byte[] name) {
        return startsWith(name, SYSTEM);
    }

    /** Whether an inode has them without their being set: {@code cairn.layout}. */
    static boolean isVirtual(byte[] name) {
        return startsWith(name, VIRTUAL);
    }

    private static boolean startsWith(byte[] name, byte[] space) {
        return name.length >= space.length
                && Arrays.equals(name, 0, space.length, space, 0, space.length);
    }

    /** As listxattr(2) answers: each name ended by a NUL. */
    public static byte[] join(List<byte[]> names) {
        int length = names.stream().mapToInt(name -> name.length + 1).sum();
        byte[] joined = new byte[length];
        int at = 0;
        for (byte[] name : names) {
            System.arraycopy(name, 0, joined, at, name.length);
            at += name.length + 1;
        }
        return joined;
    }
}
