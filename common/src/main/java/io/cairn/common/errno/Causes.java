package io.cairn.common.errno;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** Why something failed that another thread or a library did. Stateless. */
public final class Causes {
    private Causes() {}

    /** The first cause of all. */
    public static Throwable root(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }

    /** The exception that was thrown, without those that futures wrapped around it. */
    public static Throwable of(Throwable failure) {
        Throwable cause = failure;
        while ((cause instanceof CompletionException || cause instanceof ExecutionException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause;
    }

    /** Whether it failed with that error number. */
    public static boolean is(Throwable failure, Errno errno) {
        return of(failure) instanceof FsException expected && expected.errno() == errno;
    }
}
