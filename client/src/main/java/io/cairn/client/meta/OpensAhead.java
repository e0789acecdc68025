package io.cairn.client.meta;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.time.BootClock;
import io.cairn.common.time.NanoClock;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Files that the leader has opened for reading with the look-up of their names, as most files are
 * opened next that are looked up where files are read. Who opens one has it open already, and its
 * attributes are known: as long as they are leased, and this client has not changed them. One that
 * is not opened by then is closed.
 *
 * <p>Guarded by the session's lock, under which all of it is called.
 */
final class OpensAhead {
    /** More are not opened ahead. */
    static final int MAX = 1024;

    /** Look-ups that open ahead, at most, for each open for reading, and before nothing is read. */
    private static final int LOOKUPS_OF_AN_OPEN = 8;

    private static final int MAX_LOOKUPS = 64;

    /** Inodes of which it is remembered when they were changed last. */
    private static final int MAX_CHANGED = 256;

    /** A look-up. */
    final class Asked implements PendingQuery.Listener<LookupReply> {
        private final HeldLeases leases;
        private final LookupRequest lookup;
        private boolean sent;

        /** Before it was sent first. */
        private long changes;

        private long nanos;

        /** By which it opens what it finds, in its newest attempt; 0: it opens nothing. */
        private long number;

        private Asked(HeldLeases leases, LookupRequest lookup) {
            this.leases = leases;
            this.lookup = lookup;
        }

        /** As it is sent now. */
        LookupRequest request(long session) {
            if (!sent) {
                sent = true;
                changes = OpensAhead.this.changes;
                nanos = clock.nanos();
            }
            long borrower = leases.session(session);
            LookupRequest.Builder request = lookup.toBuilder().setLeaseSession(borrower);
            boolean opening = borrower != 0 && lookups > 0 && files.size() < MAX;
            number = opening ? opens.openFound(request) : 0;
            lookups -= opening ? 1 : 0;
            return request.build();
        }

        @Override
        public void heard(LookupReply reply) {
            found(reply, this);
        }

        @Override
        public void unheard() {
            if (number != 0 && opens.isOfRound(number)) {
                opens.asked(); // whatever it has opened, or will, ends with the round
            }
        }
    }

    /**
     * @param number of the open
     * @param untilNanos of the lease of its attributes
     */
    record Ahead(long number, Attr attr, long untilNanos) {}

    private final OpensForReading opens;

    /** Goes on while the machine is suspended, as leases do. */
    private final NanoClock clock = BootClock.INSTANCE;

    private final Map<Long, Ahead> files = new LinkedHashMap<>();

    /** Look-ups left that open ahead. */
    private int lookups;

    /** Of attributes, by this client or told by recalls. */
    private long changes;

    /** The newest changes, and which they were. */
    private final LinkedHashMap<Long, Long> changed = new LinkedHashMap<>();

    /** Of older ones it is not known of what they were. */
    private long lastForgotten;

    OpensAhead(OpensForReading opens) {
        this.opens = opens;
    }

    /**
     * Any thread.
     *
     * @param lookup without a session
     */
    Asked asked(HeldLeases leases, LookupRequest lookup) {
        return new Asked(leases, lookup);
    }

    /** Files are read here: look-ups are worth to open ahead for a while. */
    void used() {
        lookups = Math.min(MAX_LOOKUPS, lookups + LOOKUPS_OF_AN_OPEN);
    }

    private void found(LookupReply reply, Asked asked) {
        long number = reply.getOpened();
        if (number == 0 || !opens.isOfRound(number)) {
            return; // what was open in an earlier round the leader has closed
        }
        Attr attr = reply.getAttr();
        long inode = attr.getInode();
        @Nullable Ahead before = files.get(inode);
        if (before != null && before.number > number) {
            return; // that covers it
        }
        long until = asked.nanos + TimeUnit.MICROSECONDS.toNanos(attr.getAttrLeaseMicros());
        if (changedSince(inode, asked.changes)) {
            files.remove(inode);
            opens.toClose(inode, number);
        } else {
            files.put(inode, new Ahead(number, attr, until));
        }
    }

    private boolean changedSince(long inode, long before) {
        return lastForgotten > before || changed.getOrDefault(inode, 0L) > before;
    }

    /**
     * The file is being opened.
     *
     * @param unchanged whether all that this client has done to it is with the leader
     * @return what is open; null: it has to be asked for
     */
    @Nullable Ahead take(long inode, boolean unchanged) {
        @Nullable Ahead ahead = files.remove(inode);
        if (ahead != null && (!unchanged || ahead.untilNanos - clock.nanos() <= 0)) {
            opens.toClose(inode, ahead.number);
            return null;
        }
        return ahead;
    }

    /** Attributes have changed, or will, or what had it open is closed. */
    void changed(long inode) {
        changed.putLast(inode, ++changes);
        if (changed.size() > MAX_CHANGED) {
            lastForgotten = changed.pollFirstEntry().getValue();
        }
        close(inode);
    }

    private void anyChanged() {
        lastForgotten = ++changes;
        List.copyOf(files.keySet()).forEach(this::close);
    }

    private void close(long inode) {
        @Nullable Ahead ahead = files.remove(inode);
        if (ahead != null) {
            opens.toClose(inode, ahead.number);
        }
    }

    /** A change of this client's was answered. */
    void mutated(Mutation m, MutationResult result) {
        switch (m.getOpCase()) {
            case SET_ATTR -> changed(m.getSetAttr().getInode());
            case SET_XATTR -> changed(m.getSetXattr().getInode());
            case REMOVE_XATTR -> changed(m.getRemoveXattr().getInode());
            case OPEN -> changed(m.getOpen().getInode());
            case RELEASE -> changed(m.getRelease().getInode());
            case GROW -> changed(m.getGrow().getInode());
            case RAISE_CEILING -> changed(m.getRaiseCeiling().getInode());
            case ACQUIRE_APPEND -> changed(m.getAcquireAppend().getInode());
            case RETURN_APPEND -> changed(m.getReturnAppend().getInode());
            case LINK -> changed(m.getLink().getInode());
            case SET_LOCK -> changed(m.getSetLock().getLock().getInode());
            case CREATE, UNLINK -> changed(result.getAttr().getInode());
            // Of directories and what is new nothing is open ahead.
            case MKDIR, SYMLINK, MKNOD, RMDIR, ACQUIRE_IDS, RETURN_IDS -> {}
            // What had the new name has changed as well.
            case RENAME, MOVE, OP_NOT_SET -> anyChanged();
        }
    }

    /** Closes what has not been used in time. */
    void sweep() {
        long nowNanos = clock.nanos();
        List<Long> over = new ArrayList<>();
        files.forEach((inode, ahead) -> {
            if (ahead.untilNanos - nowNanos <= 0) {
                over.add(inode);
            }
        });
        over.forEach(this::close);
    }

    /** A round begins, or the session has ended: the leader has closed them. */
    void clear() {
        files.clear();
    }
}
