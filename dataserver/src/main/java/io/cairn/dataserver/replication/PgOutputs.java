package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.Merge;
import io.cairn.common.data.Split;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.store.PgLogEntry;
import org.jspecify.annotations.Nullable;

/**
 * The actions of a {@link PgReplica}. Called by the PG's owner, from inside an input; none may call
 * back into the replica before it returns.
 */
public interface PgOutputs {
    /** Logs the entry; {@link PgReplica#onDurable} follows, in order. */
    void append(PgLogEntry entry);

    /** As {@link #append}, unless the disk has no room for it; false then. */
    boolean appendIfRoom(PgLogEntry entry);

    /** See {@link io.cairn.dataserver.store.DiskStore#overwrites}. */
    boolean overwrites(DataOp op);

    /** See {@link io.cairn.dataserver.store.DiskStore#isFlushing}. */
    boolean isFlushing();

    /** See {@link io.cairn.dataserver.store.DiskStore#commit}. */
    void commit(long sequence);

    /**
     * The split with which this epoch begins: the map says that another group was made of a part of
     * this one, and the history here does not say so yet. Null if there is none.
     */
    default @Nullable Split splitDue() {
        return null;
    }

    /**
     * The merge that is to be logged now: the map says that another group goes back into this one,
     * that one has come to its end in this epoch or an older one, and the history here does not say
     * so yet. Null if there is none.
     */
    default @Nullable Merge mergeDue() {
        return null;
    }

    /**
     * Whether the map says that the group goes back into another one: it takes nothing any more.
     */
    default boolean isEnding() {
        return false;
    }

    /** Drops the uncommitted tail; {@link PgReplica#onTailDropped} follows. */
    void dropTail(long lastSequenceKept);

    /** Reads own entries after the sequence; {@link PgReplica#onEntries} follows. */
    void readEntries(long after);

    /** What the store knows of the PG, everything appended included. */
    PgLogState logState();

    /** See {@link io.cairn.dataserver.store.DiskStore#truncateSequence}. */
    long truncateSequence(long inode, int chunk);

    /** What the own disk reports of its space. */
    DiskSpace space();

    /**
     * The entry's payload stays the replica's: retain it to use it after returning. {@link
     * PgReplica#onPrepareReply} or {@link PgReplica#onPeerLost} follows, or nothing.
     */
    void sendPrepare(Prepare prepare);

    /**
     * {@link PgReplica#onPeerHistory}, {@link PgReplica#onPeerRefused} or {@link
     * PgReplica#onPeerLost} follows. If nothing does, it is asked again after {@link
     * PgLimits#resendNanos}.
     */
    void sendQuery(int disk, long pgEpoch);

    /** {@link PgReplica#onFetched} follows, or nothing. */
    void sendFetch(int disk, long pgEpoch, long after);

    /** {@link PgReplica#onPeerLost} follows if it was not answered. */
    void sendCommit(int disk, long pgEpoch, long committedSequence);

    /** The actions that concern learners. */
    RecoveryOutputs recovery();

    /** A member is in a newer epoch of this PG: the server must get the map. */
    void needMap();

    /**
     * Tells the metadata service that the PG waits for a member that says nothing, while this one
     * is the primary of the epoch. A new epoch follows, or nothing: then it is told again.
     */
    void memberSilent(int disk, long pgEpoch);

    /** Whether the map says that the PG's pool takes no new data. */
    boolean isPoolFull();

    /** The server holds its lease from the MDS. */
    boolean leaseValid();

    /** The replica changed its state; the reason is for the log and the administrator. */
    void stateChanged(PgState state, String reason);
}
