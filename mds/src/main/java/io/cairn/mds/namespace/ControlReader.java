package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLock;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.OrphanLookRecord;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.StateListener;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the leader's duties (sessions, map, reaper, truncator, status) read from the replicated
 * state. Any thread; shows the state after the last applied entry.
 */
public interface ControlReader {
    /** Whether the first entry (FormatEntry) has been applied. */
    boolean isFormatted();

    /** Empty until formatted. */
    ByteString clusterId();

    /** Epoch 0 until formatted. */
    ClusterMap map();

    /** How many files, directories and deleted files name a pool that is not the first one. */
    long poolUsers(int pool);

    /** The settings that all members share; fields are 0 until they were first logged. */
    ClusterSettings settings();

    /** All sessions, refused ones included, by id. */
    List<SessionRecord> sessions();

    @Nullable SessionRecord session(long session);

    /** How often the session holds the inode open; 0 if not at all. */
    int openCount(long session, long inode);

    /** Whether it is there without a name, and without a session that holds it open here. */
    boolean isUnused(long inode);

    /** The session that has the append right of the inode, 0 if none, or no such inode. */
    long appender(long inode);

    /** The locks of a file, as in {@code LockTable}. */
    List<FileLock> locks(long inode);

    /** Of files that have locks, by id, after the given one (0: from the start), all locks. */
    List<FileLock> locksAfter(long inode, int maxFiles);

    /** Highest inode id ever used; the leader gives out ids above it. */
    long maxInode();

    /** Highest session id ever used; the leader gives out ids above it. */
    long maxSession();

    /** The deletion queue in order, after the given sequence (0: from its head). */
    List<DeletionRecord> deletions(long afterSequence, int max);

    /** Null if there is no such inode. With what clients are not told of fences and moves. */
    @Nullable Attr attr(long inode);

    /** Inodes with pending truncations, by id, after the given one (0: from the start). */
    List<Attr> pendingTruncations(long afterInode, int max);

    /** Files that are moved into other pools, by id, after the given one (0: from the start). */
    List<Attr> moves(long afterInode, int max);

    /** Inodes without a name that are still open, by id, after the given one. */
    List<Long> orphans(long afterInode, int max);

    /** The places of those inodes of which no file has data in the pool, by one state. */
    List<Integer> orphansAmong(int pool, List<Long> inodes);

    /** What is noted of orphaned data, by pool and inode (unsigned), after the given one. */
    List<OrphanedInode> orphanedData(int afterPool, long afterInode, int max);

    /** Null if nothing is noted of it. */
    @Nullable OrphanedInode orphanedInode(int pool, long inode);

    /** The last look for orphaned data at each placement group that was looked at. */
    Map<Integer, OrphanLookRecord> orphanLooks();

    /** Called from the applying thread after an entry is committed; must not block. */
    void addListener(StateListener listener);
}
