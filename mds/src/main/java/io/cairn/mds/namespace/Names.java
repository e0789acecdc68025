package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.EntryNames;

/** Checks names: 1 to 255 bytes, neither NUL nor '/' among them, and neither "." nor "..". */
final class Names {
    private Names() {}

    /** ENAMETOOLONG, ENOENT for no name at all, EINVAL. */
    static void check(ByteString name) {
        if (name.size() > EntryNames.MAX_BYTES) {
            throw new FsException(Errno.ENAMETOOLONG, "a name of " + name.size() + " bytes");
        }
        if (name.isEmpty()) {
            throw new FsException(Errno.ENOENT, "an empty name");
        }
        if (EntryNames.isDots(name)) {
            throw new FsException(Errno.EINVAL, "'" + name.toStringUtf8() + "' is no entry");
        }
        if (!EntryNames.hasOnlyNameBytes(name)) {
            throw new FsException(Errno.EINVAL, "a name with NUL or '/'");
        }
    }
}
