package io.cairn.dataserver.pg;

import io.cairn.common.metrics.Counter;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.rpc.RpcClient;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.replication.PgLimits;
import io.cairn.dataserver.replication.SpaceLedger;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What all loops of one data server share. Any thread.
 *
 * @param disks that opened, by the id the MDS gave; filled at registration, before the first map
 * @param lost disks that did not open, though the map said at registration that they belong to this
 *     server: its id by theirs
 * @param peers makes channels to other data servers
 * @param fatal told of a broken invariant: nothing may be acknowledged any more
 * @param holds what an administrator holds back
 * @param membership the way to the metadata service, for primaries
 * @param damaged told of damaged blocks
 * @param ends of groups that go back into others, as their primaries here have found them, by group
 *     and disk
 * @param pace of copies to learners
 * @param clientsWait whether operations of clients take longer here than they should: who copies to
 *     a learner here is told
 * @param needMap called when a request or a member shows that a newer map exists
 */
public record ServerParts(
        Map<Integer, LocalDisk> disks,
        Map<Integer, Integer> lost,
        RpcClient peers,
        SpaceLedger ledger,
        Lease lease,
        Holds holds,
        PgLimits limits,
        Membership membership,
        DamagedBlocks damaged,
        Map<Long, Merges.End> ends,
        RecoveryPace pace,
        BooleanSupplier clientsWait,
        Runnable needMap,
        OperationTimer prepareTimer,
        Counter copiedBytes,
        Counter resentBytes,
        FatalHandler fatal) {

    /** A disk that serves here; null if it is elsewhere, or out. */
    @Nullable LocalDisk disk(int id) {
        LocalDisk disk = disks.get(id);
        return disk == null || disk.isOut() ? null : disk;
    }
}
