package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.MapUpdate;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.CloseSessionEntry;
import io.cairn.mds.proto.EvictSessionEntry;
import io.cairn.mds.proto.OpenSessionEntry;
import io.cairn.mds.proto.ReleaseSessionEntry;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The life of client sessions. The applying thread only.
 *
 * <pre>
 *        open            evict             release
 *   none ────▶ served ────────▶ refused ──────────▶ ending ──▶ none
 *                │ close                              ▲  │ release
 *                └────────────────────────────────────┘  └──▶ ending
 * </pre>
 *
 * <p>A refused session keeps its files open until it is released: by then every data server refuses
 * it too. A session may hold a million inodes open, and an entry delays all others. So open files
 * are released in slices, one entry each. The session is over with the first slice. Its record
 * stays until the last slice and says where the next one begins. An end that is logged twice is
 * answered like the first.
 */
final class Sessions {
    private Sessions() {}

    /** ESTALE where it never existed, has ended, or is refused. */
    static SessionRecord requireServed(StateTx tx, long id) {
        SessionRecord session = tx.session(id);
        if (session == null || isClosed(session)) {
            throw new FsException(Errno.ESTALE, "session " + id + " is not open");
        }
        if (session.getRefused()) {
            throw new FsException(Errno.ESTALE, "session " + id + " was evicted");
        }
        return session;
    }

    /**
     * At its client's wish, so that nobody refuses it by name; not all it held open is free yet.
     */
    private static boolean isClosed(SessionRecord session) {
        return session.getEnding() && !session.getRefused();
    }

    /** The client's session if it has one, else a new one; EAGAIN for an id used before. */
    static ApplyReply.Builder open(StateTx tx, OpenSessionEntry entry) {
        ByteString uuid = entry.getClientUuid();
        if (uuid.size() != Uuids.BYTES) {
            throw new FsException(Errno.EINVAL, "a client uuid of " + uuid.size() + " bytes");
        }
        byte[] present = tx.get(MetaKeys.of(MetaKeys.SESSION_OF, uuid));
        if (present != null) {
            return ApplyReply.newBuilder().setSession(MetaKeys.longAt(present, 0));
        }
        long id = entry.getSession() != 0 ? entry.getSession() : tx.tally.maxSession + 1;
        if (id <= tx.tally.maxSession) {
            throw new FsException(Errno.EAGAIN, "session id " + id + " was used before");
        }
        tx.tally.maxSession = id;
        tx.put(MetaKeys.of(MetaKeys.SESSION_OF, uuid), MetaKeys.longValue(id));
        tx.putSession(
                SessionRecord.newBuilder()
                        .setSession(id)
                        .setClientUuid(uuid)
                        .setDescription(entry.getDescription())
                        .setAddress(entry.getAddress())
                        .setOpened(tx.now.toProto())
                        .setAckedBelow(1)
                        .setReclaims(entry.getReclaims())
                        .setDelegates(entry.getDelegates())
                        .build());
        tx.announce(listener -> listener.sessionOpened(id));
        return ApplyReply.newBuilder().setSession(id);
    }

    /** At the client's wish. ESTALE for a refused one: data servers may still have its writes. */
    static ApplyReply.Builder close(StateTx tx, CloseSessionEntry entry) {
        long id = entry.getSession();
        SessionRecord session = tx.session(id);
        if (session != null && !isClosed(session)) {
            end(tx, requireServed(tx, id), entry.getMaxOpens());
        }
        return ApplyReply.newBuilder().setSession(id);
    }

    /** Those that are refused already, or over, are passed over; ESTALE for one asked by itself. */
    static ApplyReply.Builder evict(StateTx tx, EvictSessionEntry entry) {
        long one = entry.getSession();
        Set<Long> asked = new LinkedHashSet<>(entry.getSessionsList());
        if (one != 0) {
            SessionRecord session = tx.session(one);
            if (session == null || isClosed(session)) {
                throw new FsException(Errno.ESTALE, "session " + one + " is not open");
            }
            asked.add(one);
        }
        List<SessionRecord> served = new ArrayList<>();
        for (long id : asked) {
            SessionRecord session = tx.session(id);
            if (session != null && !isClosed(session) && !session.getRefused()) {
                served.add(session);
            }
        }
        if (!served.isEmpty()) {
            refuse(tx, served);
        }
        return ApplyReply.newBuilder().setSession(one);
    }

    /** In one epoch of the map, however many they are. */
    private static void refuse(StateTx tx, List<SessionRecord> sessions) {
        long epoch = tx.map.epoch() + 1;
        MapUpdate.Builder increment =
                MapUpdate.newBuilder().setBaseEpoch(tx.map.epoch()).setEpoch(epoch);
        sessions.forEach(session -> increment.addRefusedSessions(session.getSession()));
        MapEntries.change(tx, increment.build());
        for (SessionRecord session : sessions) {
            tx.putSession(session.toBuilder().setRefused(true).setRefusedEpoch(epoch).build());
            // The client may come back at once, as somebody else.
            tx.delete(MetaKeys.of(MetaKeys.SESSION_OF, session.getClientUuid()));
            tx.announce(listener -> listener.sessionRefused(session.getSession(), epoch));
        }
    }

    /**
     * A slice of what an ending session holds open. Of an evicted one the first comes once every
     * data server has confirmed the refusal, which none takes back: the others need not ask.
     */
    static ApplyReply.Builder release(StateTx tx, ReleaseSessionEntry entry) {
        long id = entry.getSession();
        SessionRecord session = tx.session(id);
        if (session != null) {
            if (!session.getRefused() && !session.getEnding()) {
                throw new FsException(Errno.EINVAL, "session " + id + " was not evicted");
            }
            end(tx, session, entry.getMaxOpens());
        }
        return ApplyReply.newBuilder().setSession(id);
    }

    private static void end(StateTx tx, SessionRecord session, int maxOpens) {
        long id = session.getSession();
        SessionRecord ending = session.getEnding() ? session : begun(tx, session);
        ending = IdRanges.release(tx, ending, maxOpens);
        SessionRecord left =
                ending.getIdRangesCount() > 0
                        ? ending
                        : OpenFiles.releaseSome(tx, ending, maxOpens);
        if (!session.getEnding()) {
            tx.announce(listener -> listener.sessionEnded(id));
        }
        if (left != null) {
            tx.putSession(left);
        } else {
            tx.removeSession(id);
        }
    }

    /** Its client may come back at once, as somebody else; nobody asks for its answers. */
    private static SessionRecord begun(StateTx tx, SessionRecord session) {
        long id = session.getSession();
        for (long n = session.getAckedBelow(); n <= session.getLastNumber(); n++) {
            tx.delete(MetaKeys.of(MetaKeys.ANSWER, id, n));
        }
        if (!session.getRefused()) {
            tx.delete(MetaKeys.of(MetaKeys.SESSION_OF, session.getClientUuid()));
        }
        return session.toBuilder()
                .setEnding(true)
                .setAckedBelow(session.getLastNumber() + 1)
                .build();
    }
}
