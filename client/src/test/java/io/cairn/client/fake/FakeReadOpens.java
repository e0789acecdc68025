package io.cairn.client.fake;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CloseForReadingRequest;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.ReclaimOpensRequest;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * What the leader of a fake MDS knows of files that are open for reading. Guarded by the monitor of
 * the namespace.
 */
public final class FakeReadOpens {
    private final FakeNamespace names;
    private final Map<Long, Map<Long, Long>> opens = new HashMap<>();
    private final Map<Long, Long> rounds = new HashMap<>();

    /** Sessions that were opened so. */
    private final Set<Long> sessions = new HashSet<>();

    private final Set<Long> awaited = new HashSet<>();
    private long term = 1;
    private boolean on;
    private int reclaims;

    FakeReadOpens(FakeNamespace names) {
        this.names = names;
    }

    /** Whether sessions opened from now on may have such opens; not at first. */
    public void allow(boolean yes) {
        synchronized (names) {
            on = yes;
        }
    }

    /** By one session. */
    public boolean isOpen(long session, long inode) {
        synchronized (names) {
            return opens.getOrDefault(session, Map.of()).containsKey(inode);
        }
    }

    /** Of all sessions. */
    public int count() {
        synchronized (names) {
            return opens.values().stream().mapToInt(Map::size).sum();
        }
    }

    /** How often a session has told all it has open. */
    public int reclaims() {
        synchronized (names) {
            return reclaims;
        }
    }

    public boolean isAwaited(long session) {
        synchronized (names) {
            return awaited.contains(session);
        }
    }

    boolean mayBeOpen(long inode) {
        synchronized (names) {
            return !awaited.isEmpty()
                    || opens.values().stream().anyMatch(s -> s.containsKey(inode));
        }
    }

    /** Another member leads, or the same one again. */
    public void leaderChanged() {
        synchronized (names) {
            term++;
            opens.clear();
            rounds.clear();
            awaited.addAll(sessions);
        }
    }

    long term() {
        synchronized (names) {
            return term;
        }
    }

    boolean sessionOpened(long session) {
        synchronized (names) {
            if (on) {
                sessions.add(session);
            }
            return sessions.contains(session);
        }
    }

    void sessionEnded(long session) {
        synchronized (names) {
            sessions.remove(session);
            awaited.remove(session);
            opens.remove(session);
        }
        names.forgetNameless();
    }

    Attr open(OpenForReadingRequest r) {
        synchronized (names) {
            check(r.getSession(), r.getTerm(), r.getRound());
            boolean known = isOpen(r.getSession(), r.getInode());
            Attr attr = names.attr(r.getInode());
            if (attr.getNlink() == 0 && !known && names.opens(r.getSession(), r.getInode()) == 0) {
                throw new FsException(Errno.ENOENT, "no name");
            }
            opens.computeIfAbsent(r.getSession(), s -> new HashMap<>())
                    .merge(r.getInode(), r.getNumber(), Math::max);
            return attr;
        }
    }

    /** The number of the open, 0 where there is none. */
    long openFound(LookupRequest lookup, Attr found) {
        boolean open = isOpen(lookup.getLeaseSession(), found.getInode());
        if (lookup.getOpenNumber() == 0 || open || !Mode.isRegular(found.getMode())) {
            return 0;
        }
        try {
            open(
                    OpenForReadingRequest.newBuilder()
                            .setSession(lookup.getLeaseSession())
                            .setTerm(lookup.getOpenTerm())
                            .setRound(lookup.getOpenRound())
                            .setNumber(lookup.getOpenNumber())
                            .setInode(found.getInode())
                            .build());
            return lookup.getOpenNumber();
        } catch (FsException e) {
            return 0;
        }
    }

    void close(CloseForReadingRequest r) {
        synchronized (names) {
            check(r.getSession(), r.getTerm(), r.getRound());
            Map<Long, Long> of = opens.getOrDefault(r.getSession(), new HashMap<>());
            r.getOpensList()
                    .forEach(open ->
                            of.computeIfPresent(
                                    open.getInode(), (i, n) -> n <= open.getNumber() ? null : n));
        }
        names.forgetNameless();
    }

    /** In one part. */
    void reclaim(ReclaimOpensRequest r) {
        synchronized (names) {
            if (!sessions.contains(r.getSession())) {
                throw new FsException(Errno.ESTALE, "session is not open");
            }
            if (r.getPart() != 0 || !r.getLast()) {
                throw new AssertionError("in parts: " + r.getPart());
            }
            if (r.getTerm() != term || r.getRound() <= rounds.getOrDefault(r.getSession(), 0L)) {
                throw new FsException(Errno.EAGAIN, "term " + term);
            }
            rounds.put(r.getSession(), r.getRound());
            Map<Long, Long> of = new HashMap<>();
            r.getOpensList().forEach(open -> of.put(open.getInode(), open.getNumber()));
            opens.put(r.getSession(), of);
            awaited.remove(r.getSession());
            reclaims++;
        }
        names.forgetNameless();
    }

    private void check(long session, long ofTerm, long round) {
        if (!sessions.contains(session)) {
            throw new FsException(Errno.ESTALE, "session is not open");
        }
        if (ofTerm != term || rounds.getOrDefault(session, 0L) != round) {
            throw new FsException(Errno.EAGAIN, "another round");
        }
    }
}
