package io.cairn.common.posix;

import com.google.protobuf.ByteString;

/** What an entry of a directory may be called, and a symbolic link hold. Stateless. */
public final class EntryNames {
    /** Of a name. */
    public static final int MAX_BYTES = 255;

    /** Of the target of a symbolic link, which has one byte at least. */
    public static final int MAX_TARGET_BYTES = 4095;

    public static final ByteString DOT = ByteString.copyFromUtf8(".");
    public static final ByteString DOT_DOT = ByteString.copyFromUtf8("..");

    private EntryNames() {}

    /** 1 to {@link #MAX_BYTES} bytes, all of which may stand in one, and no {@link #isDots}. */
    public static boolean isValid(ByteString name) {
        return !name.isEmpty()
                && name.size() <= MAX_BYTES
                && !isDots(name)
                && hasOnlyNameBytes(name);
    }

    /** Whether it is "." or "..". */
    public static boolean isDots(ByteString name) {
        return name.equals(DOT) || name.equals(DOT_DOT);
    }

    /** Whether neither NUL nor '/' is among them. */
    public static boolean hasOnlyNameBytes(ByteString name) {
        for (int i = 0; i < name.size(); i++) {
            if (name.byteAt(i) == 0 || name.byteAt(i) == '/') {
                return false;
            }
        }
        return true;
    }
}
