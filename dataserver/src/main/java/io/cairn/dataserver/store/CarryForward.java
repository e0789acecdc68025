package io.cairn.dataserver.store;

import io.cairn.common.errno.FsException;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.wal.PayloadReader;
import io.cairn.dataserver.wal.Wal;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Lets the log be trimmed although a deferred operation is in its oldest part: the operation is
 * logged once more, at the end. A recovery takes the newest record for it, because the durable
 * index says that it is deferred. Not when the deferred ones would fill a good part of the log
 * themselves: then writes wait until blocks are repaired. For the flusher.
 */
final class CarryForward {
    /** From here on the log needs its oldest part. */
    private static final double FILL = 0.5;

    /** Share of the log that deferred operations may take. */
    private static final int MAX_SHARE = 4;

    private final Wal wal;
    private final Collection<PgStore> pgs;
    private final List<Moved> moving = new ArrayList<>();

    /** Whose payload could not be read from the log: they stay where they are. */
    private final Set<LoggedOp> unreadable = Collections.newSetFromMap(new IdentityHashMap<>());

    private record Moved(LoggedOp op, WalRecord record) {}

    CarryForward(Wal wal, Collection<PgStore> pgs) {
        this.wal = wal;
        this.pgs = pgs;
    }

    /** Those that are durable at their new place are not needed at the old one. */
    void settle() {
        long synced = wal.syncedLsn();
        moving.removeIf(m -> {
            boolean durable = m.record().lsn() <= synced;
            if (durable) {
                m.op().logged(m.record());
            }
            return durable;
        });
    }

    /**
     * Whether the log is to be relieved: where what is in the way can be moved, and there is room
     * for all that would be.
     *
     * @param trimLsn what hinders trimming is right behind it
     */
    boolean due(long trimLsn) {
        if (!moving.isEmpty() || wal.fillRatio() < FILL) {
            return false;
        }
        List<LoggedOp> all = deferred();
        unreadable.retainAll(all);
        long bytes = all.stream().mapToLong(CarryForward::bytes).sum();
        double free = (1 - wal.fillRatio()) * wal.capacityBytes();
        return bytes < Math.min(wal.capacityBytes() / MAX_SHARE, free / 2)
                && all.stream().anyMatch(o -> o.record().lsn() == trimLsn + 1 && movable(o));
    }

    /** The index, which says what is deferred, must be durable. */
    void move(PayloadReader payloads) {
        deferred().forEach(o -> log(o, payloads));
    }

    /**
     * Repairs too, and steps of a learner: of repairs a recovery takes them for void, or lays the
     * same bytes over a block again.
     */
    private boolean movable(LoggedOp o) {
        return !unreadable.contains(o);
    }

    /** What it takes in the log; a large write has its payload in the data file. */
    private static long bytes(LoggedOp o) {
        return 4096L + (o.isDirect() ? 0 : o.record().payloadLength());
    }

    private List<LoggedOp> deferred() {
        List<LoggedOp> all = new ArrayList<>();
        pgs.forEach(pg -> all.addAll(pg.deferred()));
        return all;
    }

    private static @Nullable ByteBuf payload(LoggedOp o, PayloadReader payloads) {
        try {
            return LocalDiskStore.payload(o.record(), o, payloads);
        } catch (FsException e) {
            return null;
        }
    }

    private void log(LoggedOp o, PayloadReader payloads) {
        WalRecord r = o.record();
        if (!movable(o)) {
            return;
        }
        ByteBuf payload = o.isDirect() ? Unpooled.EMPTY_BUFFER : payload(o, payloads);
        if (payload == null) {
            unreadable.add(o);
        } else {
            try {
                moving.add(new Moved(o, wal.appendAgain(r, payload)));
            } finally {
                payload.release();
            }
        }
    }
}
