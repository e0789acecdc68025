package io.cairn.client.data;

import io.cairn.common.map.ClusterMap;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The attempts whose outcome is awaited, in the order in which they were sent: a list through the
 * attempts themselves, so that being in it costs no memory. Whoever takes one out goes on with its
 * call, alone, and sees what was done with the call before. Any thread.
 *
 * <p>Who adds one looks at the map afterwards; a newer map is there before {@link #deposed} is
 * asked. So an attempt that misses a map is seen by one of the two.
 */
final class AttemptsInFlight {
    private @Nullable DataAttempt oldest;
    private @Nullable DataAttempt newest;

    synchronized void add(DataAttempt attempt) {
        attempt.linked = true;
        attempt.older = newest;
        if (newest == null) {
            oldest = attempt;
        } else {
            newest.newer = attempt;
        }
        newest = attempt;
    }

    /** True for one caller only: its call is the caller's. */
    synchronized boolean take(DataAttempt attempt) {
        if (!attempt.linked) {
            return false;
        }
        attempt.linked = false;
        DataAttempt older = attempt.older;
        DataAttempt newer = attempt.newer;
        if (older == null) {
            oldest = newer;
        } else {
            older.newer = newer;
        }
        if (newer == null) {
            newest = older;
        } else {
            newer.older = older;
        }
        attempt.older = null;
        attempt.newer = null;
        return true;
    }

    /** Those that went to a primary that the map has replaced; they stay. */
    synchronized List<DataAttempt> deposed(ClusterMap map) {
        List<DataAttempt> found = new ArrayList<>();
        for (DataAttempt a = oldest; a != null; a = a.newer) {
            if (a.deposedBy(map)) {
                found.add(a);
            }
        }
        return found;
    }

    /** Whether one has had no answer for so long. */
    synchronized boolean silentFor(long nanos, long now) {
        return oldest != null && oldest.sentFor(nanos, now);
    }
}
