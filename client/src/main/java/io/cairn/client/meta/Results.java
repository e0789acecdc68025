package io.cairn.client.meta;

import io.cairn.client.base.Async;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MutationResult;
import org.jspecify.annotations.Nullable;

/** The outcome of a {@link MutationResult}, or of a request that got none in time. */
public final class Results {
    private Results() {}

    /** Null when it was done. */
    public static @Nullable FsException failure(MutationResult result) {
        return result.getErrno() == 0 ? null : failed(result);
    }

    /** The same where there may be no result. */
    public static @Nullable FsException failure(
            @Nullable MutationResult result, @Nullable Throwable thrown) {
        return result == null
                ? Async.failure(thrown == null ? new IllegalStateException() : thrown)
                : failure(result);
    }

    /** The failure of a result known to be one. */
    public static FsException failed(MutationResult result) {
        return new FsException(Errno.of(result.getErrno()), result.getDetail());
    }

    /** For a caller whose deadline has passed. */
    static FsException late(String last) {
        return new FsException(Errno.ETIMEDOUT, "no answer from the MDS in time; last: " + last);
    }
}
