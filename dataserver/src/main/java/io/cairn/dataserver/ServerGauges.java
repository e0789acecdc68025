package io.cairn.dataserver;

import io.cairn.common.metrics.Meters;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.ground.DataServerMeter;
import io.cairn.dataserver.mdslink.MapFollower;
import io.cairn.dataserver.pg.ConfiguredDisk;
import io.cairn.dataserver.pg.DiskPhase;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoops;
import io.cairn.dataserver.pg.ServerParts;
import io.cairn.dataserver.replication.PgState;
import io.cairn.dataserver.scrub.Scrubs;
import java.util.List;
import java.util.Locale;

/** The gauges of a data server. */
record ServerGauges(
        Meters meters,
        List<ConfiguredDisk> disks,
        PgLoops loops,
        ServerParts parts,
        MapFollower maps,
        Scrubs scrubs) {

    void register() {
        meters.gauge(DataServerMeter.IN_FLIGHT, () -> parts.ledger().inFlightBytes());
        meters.gauge(DataServerMeter.RECOVERY_RATE, () -> parts.pace().rate());
        meters.gauge(DataServerMeter.MAP_EPOCH, () -> maps.epoch());
        meters.gauge(DataServerMeter.LEASE, () -> parts.lease().remainingNanos() / 1e9);
        meters.gauge(DataServerMeter.SCRUB_AGE, () -> scrubs.ageSeconds(false), "light");
        meters.gauge(DataServerMeter.SCRUB_AGE, () -> scrubs.ageSeconds(true), "deep");
        for (PgState state : PgState.values()) {
            meters.gauge(
                    DataServerMeter.PGS,
                    () -> loops.stateCount(state),
                    state.name().toLowerCase(Locale.ROOT));
        }
        for (int i = 0; i < disks.size(); i++) {
            disk(disks.get(i), Integer.toString(i));
        }
    }

    /** Those of a disk that is the newest one. */
    void add(ConfiguredDisk configured) {
        disk(configured, Integer.toString(disks.indexOf(configured)));
    }

    private void disk(ConfiguredDisk configured, String tag) {
        for (DiskPhase phase : DiskPhase.values()) {
            meters.gauge(
                    DataServerMeter.DISK_STATE,
                    () -> configured.phase() == phase ? 1 : 0,
                    tag,
                    phase.name().toLowerCase(Locale.ROOT));
        }
        DiskCalls calls = configured.calls();
        meters.gauge(DataServerMeter.DISK_OUTSTANDING, calls::outstanding, tag);
        meters.gauge(DataServerMeter.DISK_OLDEST_CALL, () -> calls.oldestNanos() / 1e9, tag);
        LocalDisk opened = configured.disk();
        if (opened != null) {
            opened(opened, tag);
        }
    }

    private void opened(LocalDisk disk, String tag) {
        meters.gauge(DataServerMeter.WAL_USED, () -> disk.store().usage().walUsedBytes(), tag);
        meters.gauge(
                DataServerMeter.WAL_CAPACITY, () -> disk.store().usage().walCapacityBytes(), tag);
        meters.gauge(
                DataServerMeter.WAITING_FOR_REPAIR, () -> disk.store().waitingForRepair(), tag);
        meters.gauge(DataServerMeter.QUARANTINED, () -> disk.damage().quarantined().size(), tag);
        meters.gauge(DataServerMeter.SLOWDOWN, () -> disk.delayNanos() / 1e9, tag);
        meters.gauge(DataServerMeter.DISK_USED, () -> disk.store().usage().usedBytes(), tag);
        meters.gauge(
                DataServerMeter.DISK_CAPACITY, () -> disk.store().usage().capacityBytes(), tag);
    }
}
