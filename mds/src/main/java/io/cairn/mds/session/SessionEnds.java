package io.cairn.mds.session;

import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.proto.SessionRecord;
import java.util.HashSet;
import java.util.List;
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

    /** Sessions that one entry evicts: likewise. */
    static final int EVICTIONS_OF_AN_ENTRY = 1000;

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

    /**
     * In as few entries as can be: each is an epoch of the map.
     *
     * @return those of which no entry was in flight already
     */
    List<Long> evict(List<Long> sessions) {
        List<Long> evicted = sessions.stream().filter(s -> !inFlight.contains(s)).toList();
        int most = Features.level(state.settings()) >= Features.ELASTIC ? EVICTIONS_OF_AN_ENTRY : 1;
        for (int from = 0; from < evicted.size(); from += most) {
            List<Long> some = evicted.subList(from, Math.min(from + most, evicted.size()));
            EvictSessionEntry.Builder entry = EvictSessionEntry.newBuilder();
            if (some.size() == 1) {
                entry.setSession(some.getFirst());
            } else {
                entry.addAllSessions(some);
            }
            submit(some, LogEntry.newBuilder().setEvictSession(entry));
        }
        return evicted;
    }

    /**
     * The first slice of an evicted session that every data server refuses, or a later one. False
     * where an entry of it is in flight already.
     */
    boolean release(long session) {
        if (inFlight.contains(session)) {
            return false;
        }
        submit(
                List.of(session),
                LogEntry.newBuilder()
                        .setReleaseSession(
                                ReleaseSessionEntry.newBuilder()
                                        .setSession(session)
                                        .setMaxOpens(OPENS_OF_A_SLICE)));
        return true;
    }

    /** The next slice, if the session is ending and still holds something open. */
    void releaseMore(long session) {
        @Nullable SessionRecord record = state.session(session);
        if (record != null && record.getEnding()) {
            release(session);
        }
    }

    private void submit(List<Long> sessions, LogEntry.Builder entry) {
        inFlight.addAll(sessions);
        var _ =
                entries.submit(entry)
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    sessions.forEach(inFlight::remove);
                                    if (failure != null) {
                                        LOG.warn(
                                                "sessions {} could not be ended yet",
                                                sessions,
                                                failure);
                                    } else {
                                        sessions.forEach(this::releaseMore);
                                    }
                                },
                                control);
    }
}
