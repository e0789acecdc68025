package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;

/** Checks names: 1 to 255 bytes, neither NUL nor '/' among them, and neither "." nor "..". */
final class Names {
    static final int MAX_BYTES = 255;
    static final ByteString DOT = ByteString.copyFromUtf8(".");
    static final ByteString DOT_DOT = ByteString.copyFromUtf8("..");

    private Names() {}

    /** ENAMETOOLONG, ENOENT for no name at all, EINVAL. */
    static void check(ByteString name) {
        if (name.size() > MAX_BYTES) {
            throw new FsException(Errno.ENAMETOOLONG, "a name of " + name.size() + " bytes");
        }
        if (name.isEmpty()) {
            throw new FsException(Errno.ENOENT, "an empty name");
        }
        if (name.equals(DOT) || name.equals(DOT_DOT)) {
            throw new FsException(Errno.EINVAL, "'" + name.toStringUtf8() + "' is no entry");
        }
        for (int i = 0; i < name.size(); i++) {
            if (name.byteAt(i) == 0 || name.byteAt(i) == '/') {
                throw new FsException(Errno.EINVAL, "a name with NUL or '/'");
            }
        }
    }
}
