package io.cairn.mds.session;

import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.proto.SessionRecord;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs the entries that end sessions, one entry of a session in flight at a time. The open files of
 * a session are released in slices: the next entry follows when the one before is applied, so that
 * entries of other clients come in between. A new leader continues with the sessions that it finds
 * ending. The control thread only.
 */
final class SessionEnds {
    private static final Logger LOG = LoggerFactory.getLogger(SessionEnds.class);

    /** Inodes that one entry gives back: some milliseconds in which nothing else is applied. */
    static final int OPENS_OF_A_SLICE = 1000;

    private final EntryLog entries;
    private final ControlReader state;
    private final Control control;
    private final Set<Long> inFlight = new HashSet<>();

    SessionEnds(EntryLog entries, ControlReader state, Control control) {
        this.entries = entries;
        this.state = state;
        this.control = control;
    }

    /** On becoming leader. */
    void begin() {
        inFlight.clear();
    }

    /** False where an entry of it is in flight already, as with {@link #release}. */
    boolean evict(long session) {
        return submit(
                session,
                LogEntry.newBuilder()
                        .setEvictSession(EvictSessionEntry.newBuilder().setSession(session)));
    }

    /** The first slice of an evicted session that every data server refuses, or a later one. */
    boolean release(long session) {
        return submit(
                session,
                LogEntry.newBuilder()
                        .setReleaseSession(
                                ReleaseSessionEntry.newBuilder()
                                        .setSession(session)
                                        .setMaxOpens(OPENS_OF_A_SLICE)));
    }

    /** The next slice, if the session is ending and still holds something open. */
    void releaseMore(long session) {
        @Nullable SessionRecord record = state.session(session);
        if (record != null && record.getEnding()) {
            release(session);
        }
    }

    private boolean submit(long session, LogEntry.Builder entry) {
        if (!inFlight.add(session)) {
            return false;
        }
        var _ =
                entries.submit(entry)
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    inFlight.remove(session);
                                    if (failure != null) {
                                        LOG.warn(
                                                "session {} could not be ended yet",
                                                session,
                                                failure);
                                    } else {
                                        releaseMore(session);
                                    }
                                },
                                control);
        return true;
    }
}
