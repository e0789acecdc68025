package io.cairn.client.meta;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MutationResult;
import org.jspecify.annotations.Nullable;

/** Reads the outcome of a {@link MutationResult}. */
public final class Results {
    private Results() {}

    /** Null when it was done. */
    public static @Nullable FsException failure(MutationResult result) {
        return result.getErrno() == 0 ? null : failed(result);
    }

    /** The failure of a result known to be one. */
    public static FsException failed(MutationResult result) {
        return new FsException(Errno.of(result.getErrno()), result.getDetail());
    }
}
