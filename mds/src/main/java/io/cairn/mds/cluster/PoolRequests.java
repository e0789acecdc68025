package io.cairn.mds.cluster;

import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.CreatePoolRequest;
import io.cairn.common.proto.ListPoolsReply;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.PoolReply;
import io.cairn.common.proto.PoolStatus;
import io.cairn.common.proto.RemovePoolRequest;
import io.cairn.common.proto.SetPoolRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.mds.leader.FillLimits;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.PoolUsers;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What administrators ask of pools. The control thread only. */
public final class PoolRequests {
    private static final Logger LOG = LoggerFactory.getLogger(PoolRequests.class);

    private final AdminChanges changes;
    private final CurrentMap map;
    private final ControlReader state;
    private final PgTables pgTables;

    PoolRequests(AdminChanges changes, CurrentMap map, ControlReader state, PgTables pgTables) {
        this.changes = changes;
        this.map = map;
        this.state = state;
        this.pgTables = pgTables;
    }

    public void list(RpcRequest request) {
        changes.answered(
                request,
                () -> {
                    ClusterMap present = map.get();
                    ListPoolsReply.Builder reply = ListPoolsReply.newBuilder();
                    for (Pool pool : present.pools()) {
                        PoolStatus.Builder status = PoolStatus.newBuilder().setPool(pool);
                        if (pool.getId() != PoolUsers.FIRST_POOL) {
                            status.setUsers(state.poolUsers(pool.getId()));
                        }
                        status.setPlaced(
                                (int)
                                        present.pgs().stream()
                                                .filter(g ->
                                                        PgHash.poolOf(g.getPg()) == pool.getId())
                                                .count());
                        reply.addPools(status);
                    }
                    request.reply(reply.build());
                });
    }

    public void create(RpcRequest request) {
        changes.answered(
                request,
                () -> {
                    CreatePoolRequest wanted =
                            Heads.parse(CreatePoolRequest.parser(), request.head());
                    String name = wanted.getPool().getName();
                    said(request, "makes", name);
                    Pool pool = wanted.getPool();
                    boolean thresholds = pool.hasNearFullPercent() || pool.hasFullPercent();
                    requireThresholdsKnown(thresholds);
                    change(
                            request,
                            name,
                            base ->
                                    checked(
                                            Pools.created(base, pool, changes.isGrowing()),
                                            thresholds));
                });
    }

    public void set(RpcRequest request) {
        changes.answered(
                request,
                () -> {
                    SetPoolRequest wanted = Heads.parse(SetPoolRequest.parser(), request.head());
                    said(request, "changes", wanted.getName());
                    if (wanted.hasPgCount() || wanted.getPgAuto()) {
                        changes.requireGrowth();
                    }
                    String name = wanted.hasNewName() ? wanted.getNewName() : wanted.getName();
                    boolean thresholds = wanted.hasNearFullPercent() || wanted.hasFullPercent();
                    requireThresholdsKnown(thresholds);
                    change(
                            request,
                            name,
                            base ->
                                    checked(
                                            Pools.changed(base, wanted, changes.isMerging()),
                                            thresholds));
                });
    }

    /** Refused with EBUSY while a layout names it; which ones do, the namespace counts. */
    public void remove(RpcRequest request) {
        changes.answered(
                request,
                () -> {
                    String name = Heads.parse(RemovePoolRequest.parser(), request.head()).getName();
                    said(request, "removes", name);
                    changes.requireElastic();
                    changes.change(
                            request,
                            base ->
                                    Pools.update(
                                            Pools.named(base, name).toBuilder()
                                                    .setRemoved(true)
                                                    .build()),
                            (before, _) -> reply(Pools.named(before, name)));
                });
    }

    private void requireThresholdsKnown(boolean thresholds) {
        if (thresholds) {
            changes.requireGrowth();
        }
    }

    /** EINVAL where thresholds that were asked for are not in order. */
    private Pool checked(Pool pool, boolean thresholds) {
        if (thresholds) {
            FillLimits.of(state.settings()).of(pool).check("of pool " + pool.getName());
        }
        return pool;
    }

    private static void said(RpcRequest request, String what, String name) {
        LOG.info(
                "an administrator at {} {} pool {}",
                RpcAddress.format(request.peer().address()),
                what,
                name);
    }

    /**
     * @param name of the pool once it is changed
     * @param edit may throw {@link FsException}
     */
    private void change(RpcRequest request, String name, Function<ClusterMap, Pool> edit) {
        changes.requireElastic();
        changes.change(
                request,
                base -> Pools.update(edit.apply(base)),
                (_, now) -> {
                    pgTables.makeMissing();
                    return reply(Pools.named(now, name));
                });
    }

    private static PoolReply reply(Pool pool) {
        return PoolReply.newBuilder().setPool(pool).build();
    }
}
