package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An uncommitted operation at the primary: its payload, kept to send it again, and who waits for
 * it. Owner's thread only.
 */
final class InFlight {
    private static final int[] NOBODY = {};

    final PgLogEntry entry;
    private final PgSpace space;
    private final int[] backups;

    /** One bit for each backup that has not acknowledged it. */
    private int missing;

    private @Nullable OpAnswer answer;
    private @Nullable List<OpAnswer> joined;

    /**
     * Takes over one reference of the entry's payload.
     *
     * @param backups disks that it may need space of, 31 at most
     */
    InFlight(PgLogEntry entry, PgSpace space, int[] backups, @Nullable OpAnswer answer) {
        this.entry = entry;
        this.space = space;
        this.backups = backups;
        this.answer = answer;
        missing = (1 << backups.length) - 1;
        space.charge(backups, chargeBytes(entry.op()));
    }

    /** An operation of the past, which nobody here waits for. */
    static InFlight resent(PgLogEntry entry, PgSpace space) {
        return new InFlight(entry, space, NOBODY, null);
    }

    /** What an operation may take on a disk: its blocks, those it cuts, and its head in the WAL. */
    static long chargeBytes(DataOp op) {
        return ((op.length() + 0x1FFFL) & ~0xFFFL) + 4096L * op.cuts().size();
    }

    void join(OpAnswer another) {
        if (answer == null) {
            answer = another;
        } else {
            if (joined == null) {
                joined = new ArrayList<>(2);
            }
            joined.add(another);
        }
    }

    /** Whoever waits for it is told to try again; the operation stays. */
    void disown(RpcStatus status) {
        OpAnswer first = answer;
        List<OpAnswer> others = joined;
        answer = null;
        joined = null;
        if (first != null) {
            first.fail(status);
        }
        if (others != null) {
            others.forEach(a -> a.fail(status));
        }
    }

    /** The disk has it durably. */
    void acknowledged(int disk) {
        for (int i = 0; i < backups.length; i++) {
            int bit = 1 << i;
            if (backups[i] == disk && (missing & bit) != 0) {
                missing &= ~bit;
                space.acknowledged(disk, chargeBytes(entry.op()));
            }
        }
    }

    void committed() {
        release();
        if (answer != null) {
            answer.done();
        }
        if (joined != null) {
            joined.forEach(OpAnswer::done);
        }
    }

    void failed(RpcStatus status) {
        release();
        disown(status);
    }

    private void release() {
        entry.payload().release();
        for (int disk : backups) {
            acknowledged(disk);
        }
        space.release(chargeBytes(entry.op()));
    }

    boolean overlaps(DataOp read) {
        DataOp op = entry.op();
        return switch (op.type()) {
            case WRITE ->
                    op.inode() == read.inode()
                            && op.chunk() == read.chunk()
                            && (hasCuts(op)
                                    || (op.offset() < (long) read.offset() + read.length()
                                            && read.offset() < (long) op.offset() + op.length()));
            case TRUNCATE_INODE -> op.inode() == read.inode();
            case DELETE_INODES -> true; // any inode may be among them; deletes are rare per PG
            case NOOP, SPLIT, MERGE, READ -> false;
        };
    }

    private static boolean hasCuts(DataOp op) {
        return !op.cuts().isEmpty();
    }
}
