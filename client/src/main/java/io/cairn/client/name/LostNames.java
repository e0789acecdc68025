package io.cairn.client.name;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import java.util.LinkedHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Directories in which something was not done after all that programs were told of, and who was
 * told of that: whoever syncs the directory, or else whoever next changes a name in it, as that
 * name may stand for something else than he believes. Guarded by the monitor of {@link OwnNames}.
 */
final class LostNames {
    /** Directories of which it is remembered. */
    private static final int MAX = 1024;

    /**
     * @param number ascends
     * @param session that has ended, if that is why; else 0
     * @param told whether somebody was told who asked afterwards
     */
    private record Loss(long number, long session, FsException why, boolean told) {}

    /** The newest of each directory, the oldest first. */
    private final LinkedHashMap<Long, Loss> losses = new LinkedHashMap<>();

    private long last;

    boolean isEmpty() {
        return losses.isEmpty();
    }

    /** Counts losses: of {@link #takeSince}. */
    long last() {
        return last;
    }

    /**
     * Something was not done.
     *
     * @param session in which it was to be done; once that has ended, it is known already
     */
    void add(long directory, long session, FsException why) {
        @Nullable Loss known = losses.get(directory);
        if (known == null || known.session != session) {
            put(directory, 0, why);
        }
    }

    /** The session has ended before all was answered that was done in it there. */
    void ended(long directory, long session) {
        String why = "session " + session + " has ended, and names in directory " + directory;
        put(directory, session, new FsException(Errno.EIO, why + " may be lost: look at it"));
    }

    private void put(long directory, long session, FsException why) {
        losses.putLast(directory, new Loss(++last, session, why, false));
        if (losses.size() > MAX) {
            losses.pollFirstEntry();
        }
    }

    /** Whether there is a loss of which nobody was told. */
    boolean isUntold(long directory) {
        @Nullable Loss loss = losses.get(directory);
        return loss != null && !loss.told;
    }

    /** Of which nobody was told, and now somebody is; null: there is none. */
    @Nullable FsException take(long directory) {
        return takeSince(directory, last);
    }

    /**
     * The same for one who has asked when there were {@link #last} so many: what has come since he
     * is told in any case.
     */
    @Nullable FsException takeSince(long directory, long before) {
        @Nullable Loss loss = losses.get(directory);
        if (loss == null || (loss.told && loss.number <= before)) {
            return null;
        }
        losses.put(directory, new Loss(loss.number, loss.session, loss.why, true));
        return loss.why;
    }
}
