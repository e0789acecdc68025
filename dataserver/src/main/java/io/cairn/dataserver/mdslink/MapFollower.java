package io.cairn.dataserver.mdslink;

import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.MapParts;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapPart;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PgReport;
import io.cairn.common.rpc.Heads;
import io.cairn.dataserver.ground.DirectMemory;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoops;
import io.cairn.dataserver.pg.ServerParts;
import io.netty.buffer.ByteBuf;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the newest cluster map that this server was sent, whole or as increments, and hands it to
 * the loops. Any thread; maps are applied one at a time.
 */
public final class MapFollower {
    private static final Logger LOG = LoggerFactory.getLogger(MapFollower.class);

    private final PgLoops loops;
    private final ServerParts parts;
    private final DirectMemory memory;
    private final MapParts mapParts = new MapParts();
    private volatile ClusterMap map = ClusterMap.EMPTY;

    public MapFollower(PgLoops loops, ServerParts parts, DirectMemory memory) {
        this.loops = loops;
        this.parts = parts;
        this.memory = memory;
    }

    /** Epoch of the newest map here; the loops may still be about to apply it. */
    public long epoch() {
        return map.epoch();
    }

    /** Disks of the newest map here, also those that were removed. */
    Collection<Disk> disksEver() {
        return map.disksEver();
    }

    /** Addresses of the metadata service. */
    List<String> metadataServers() {
        return map.mds().stream().map(MdsMember::getAddress).toList();
    }

    /** Epoch to confirm to the metadata service, see {@link PgLoops#confirmedEpoch}. */
    long confirmedEpoch() {
        return loops.confirmedEpoch();
    }

    /** The placement groups of this map whose primary is here; null until they were looked at. */
    @Nullable PgReport pgReport() {
        return loops.report();
    }

    /** The metadata service sent a map without being asked. */
    public void pushed(ByteBuf head) {
        try {
            update(Heads.parse(MapUpdate.parser(), head));
        } catch (FsException e) {
            LOG.warn("The metadata service pushed something that is no map: {}", e.getMessage());
        }
    }

    /** Likewise, of a map that is larger than a message. */
    public void partPushed(ByteBuf head) {
        try {
            @Nullable MapUpdate whole = mapParts.add(Heads.parse(MapPart.parser(), head));
            if (whole != null) {
                update(whole);
            }
        } catch (FsException e) {
            LOG.warn(
                    "The metadata service pushed something that is no part of a map: {}",
                    e.getMessage());
        }
    }

    /** Ignored before registration, and unless it is newer than the map here. */
    synchronized void update(MapUpdate update) {
        if (parts.disks().isEmpty() || update.getEpoch() <= map.epoch()) {
            return;
        }
        if (update.getBaseEpoch() > map.epoch()) {
            parts.needMap().run();
            return;
        }
        ClusterMap newer = applied(update);
        if (newer == null) {
            return;
        }
        map = newer;
        shareBounds(newer);
        loops.onMap(newer, List.copyOf(update.getForgottenSessionsList()));
    }

    /** This server has more disks than when it got the map. */
    public synchronized void disksAdded() {
        shareBounds(map);
        loops.placeAgain();
    }

    /** Disks of other servers are taken to have logs and memory like those here. */
    private void shareBounds(ClusterMap newer) {
        int servers = newer.servers().size();
        parts.ledger().servers(servers);
        long smallest = Long.MAX_VALUE;
        for (LocalDisk disk : parts.disks().values()) {
            smallest = Math.min(smallest, disk.store().usage().walCapacityBytes());
            disk.store().keepAhead(parts.ledger().demandBytes());
        }
        newer.disks().forEach(disk -> parts.ledger().place(disk.getId(), disk.getServer()));
        parts.ledger().shareOfLog(smallest, servers);
        parts.ledger().shareOfMemory(memory.operationBytes(), servers);
    }

    private @Nullable ClusterMap applied(MapUpdate update) {
        try {
            return map.apply(update);
        } catch (IllegalArgumentException e) {
            LOG.error("The metadata service sent a map that is not valid: {}", e.getMessage());
            return null;
        }
    }
}
