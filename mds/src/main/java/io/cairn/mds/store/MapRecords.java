package io.cairn.mds.store;

import com.google.protobuf.Parser;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import org.jspecify.annotations.Nullable;

/**
 * The cluster map as keys and values: one per server, disk, pool, PG, refused session, member, and
 * the session floor.
 */
public final class MapRecords {
    static final byte[] KINDS = {
        MetaKeys.MAP_SERVER,
        MetaKeys.MAP_DISK,
        MetaKeys.MAP_POOL,
        MetaKeys.MAP_PG,
        MetaKeys.MAP_REFUSED,
        MetaKeys.MAP_MDS,
        MetaKeys.MAP_SESSION_FLOOR
    };

    private MapRecords() {}

    /** Stores an increment. */
    public static void store(StateTx tx, MapUpdate update) {
        for (Server s : update.getServersList()) {
            tx.put(MetaKeys.ofMap(MetaKeys.MAP_SERVER, s.getId()), s.toByteArray());
        }
        for (Disk d : update.getDisksList()) {
            tx.put(MetaKeys.ofMap(MetaKeys.MAP_DISK, d.getId()), d.toByteArray());
        }
        for (Pool p : update.getPoolsList()) {
            tx.put(MetaKeys.ofMap(MetaKeys.MAP_POOL, p.getId()), p.toByteArray());
            deletePgs(tx, p);
        }
        for (PlacementGroup pg : update.getPgsList()) {
            tx.put(MetaKeys.ofMap(MetaKeys.MAP_PG, pg.getPg()), pg.toByteArray());
        }
        if (update.getMdsCount() > 0) {
            // All members are named whenever any is.
            tx.map.mds().forEach(m -> tx.delete(MetaKeys.ofMap(MetaKeys.MAP_MDS, m.getId())));
        }
        for (MdsMember m : update.getMdsList()) {
            tx.put(MetaKeys.ofMap(MetaKeys.MAP_MDS, m.getId()), m.toByteArray());
        }
        for (long session : update.getRefusedSessionsList()) {
            tx.put(
                    MetaKeys.of(MetaKeys.MAP_REFUSED, session),
                    MetaKeys.longValue(update.getEpoch()));
        }
        for (long session : update.getForgottenSessionsList()) {
            tx.delete(MetaKeys.of(MetaKeys.MAP_REFUSED, session));
        }
        if (update.getSessionFloor() > 0) {
            tx.put(
                    MetaKeys.prefix(MetaKeys.MAP_SESSION_FLOOR),
                    MetaKeys.longValue(update.getSessionFloor()));
        }
    }

    /** Of a pool that is removed, all; else those that were merged into others. */
    private static void deletePgs(StateTx tx, Pool pool) {
        @Nullable Pool before = tx.map.pool(pool.getId());
        if (before == null || (!pool.getRemoved() && pool.getPgCount() >= before.getPgCount())) {
            return;
        }
        for (PlacementGroup pg : tx.map.pgs()) {
            boolean gone = pool.getRemoved() || PgHash.indexOf(pg.getPg()) >= pool.getPgCount();
            if (gone && PgHash.poolOf(pg.getPg()) == pool.getId()) {
                tx.delete(MetaKeys.ofMap(MetaKeys.MAP_PG, pg.getPg()));
            }
        }
    }

    /** Adds a stored part to a whole map. */
    static void add(MapUpdate.Builder full, byte[] key, byte[] value) {
        switch (key[0]) {
            case MetaKeys.MAP_SERVER -> full.addServers(part(Server.parser(), value));
            case MetaKeys.MAP_DISK -> full.addDisks(part(Disk.parser(), value));
            case MetaKeys.MAP_POOL -> full.addPools(part(Pool.parser(), value));
            case MetaKeys.MAP_PG -> full.addPgs(part(PlacementGroup.parser(), value));
            case MetaKeys.MAP_MDS -> full.addMds(part(MdsMember.parser(), value));
            case MetaKeys.MAP_REFUSED -> full.addRefusedSessions(MetaKeys.longAt(key, 1));
            case MetaKeys.MAP_SESSION_FLOOR -> full.setSessionFloor(MetaKeys.longAt(value, 0));
            default -> throw new CorruptStateException("key kind " + key[0] + " is no map key");
        }
    }

    private static <M> M part(Parser<M> parser, byte[] value) {
        return MessageRows.parse(parser, value, "a part of the stored cluster map");
    }
}
