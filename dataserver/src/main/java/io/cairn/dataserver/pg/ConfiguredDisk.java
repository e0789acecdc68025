package io.cairn.dataserver.pg;

import com.google.protobuf.ByteString;
import io.cairn.common.map.Uuids;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.proto.CallTotal;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.DiskCalls.Kind;
import io.cairn.dataserver.disk.DiskCalls.Part;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One {@code [[disk]]} of the configuration, whether it opened or not: in which phase it is, and
 * for one that is out, why and what the administrator does next. Any thread.
 */
public final class ConfiguredDisk {
    private final Path data;
    private final @Nullable UUID known;
    private final DiskCalls calls;
    // guarded by this
    private DiskPhase phase = DiskPhase.OPENING;
    private @Nullable LocalDisk disk;
    private String cause = "";
    private String nextStep = "";
    private int id;
    private long capacityBytes;

    /**
     * @param data its data file, by which the administrator knows it
     * @param known the identity of the disk that was there at an earlier start; null if there was
     *     none
     * @param calls accounts for the calls to it
     */
    public ConfiguredDisk(Path data, @Nullable UUID known, DiskCalls calls) {
        this.data = data;
        this.known = known;
        this.calls = calls;
    }

    public Path data() {
        return data;
    }

    /** The identity of the disk that was there at an earlier start. */
    public @Nullable UUID known() {
        return known;
    }

    /** The account of the calls to it. */
    public DiskCalls calls() {
        return calls;
    }

    public synchronized DiskPhase phase() {
        return phase;
    }

    /** The disk, also when it failed since; null if it never opened. */
    public synchronized @Nullable LocalDisk disk() {
        return disk;
    }

    /** Those that opened, also if they failed since, in the same order. */
    public static List<LocalDisk> opened(List<ConfiguredDisk> configured) {
        List<LocalDisk> opened = new ArrayList<>();
        for (ConfiguredDisk c : configured) {
            LocalDisk disk = c.disk();
            if (disk != null) {
                opened.add(disk);
            }
        }
        return opened;
    }

    /** It opened. Returns false if it failed meanwhile. */
    public synchronized boolean opened(LocalDisk opened) {
        disk = opened;
        if (!phase.mayBecome(DiskPhase.SERVING)) {
            return false;
        }
        phase = DiskPhase.SERVING;
        return true;
    }

    /**
     * It did not open, or failed. Returns false if it was out before: the first cause counts.
     *
     * @param nextStep what the administrator does
     */
    public synchronized boolean out(String why, String nextStep) {
        if (!phase.mayBecome(DiskPhase.OUT)) {
            return false;
        }
        phase = DiskPhase.OUT;
        cause = why;
        this.nextStep = nextStep;
        return true;
    }

    /** The map of the metadata service knows a disk that did not open by its identity. */
    public synchronized void registered(Collection<Disk> inMap) {
        if (known == null || disk != null) {
            return;
        }
        ByteString uuid = Uuids.bytes(known);
        for (Disk d : inMap) {
            if (d.getUuid().equals(uuid)) {
                id = d.getId();
                capacityBytes = d.getCapacityBytes();
            }
        }
    }

    private CallTotal total(Part part, Kind kind) {
        OperationTimer timer = calls.timer(part, kind);
        return CallTotal.newBuilder()
                .setCalls(timer.count())
                .setMicros(TimeUnit.NANOSECONDS.toMicros(timer.totalNanos()))
                .build();
    }

    /** What the metadata service is told with each heartbeat. */
    public synchronized DiskStatus status() {
        LocalDisk opened = disk;
        DiskStatus.Builder status =
                opened != null
                        ? opened.status()
                        : DiskStatus.newBuilder().setDisk(id).setCapacityBytes(capacityBytes);
        status.setData(data.toString())
                .setReads(total(Part.DATA, Kind.READ))
                .setWrites(total(Part.DATA, Kind.WRITE))
                .setSyncs(total(Part.DATA, Kind.SYNC))
                .setLogWrites(total(Part.WAL, Kind.WRITE))
                .setLogSyncs(total(Part.WAL, Kind.SYNC));
        if (phase == DiskPhase.OUT) {
            status.setCondition(DiskCondition.DISK_OUT)
                    .setReleased(opened == null || opened.isReleased())
                    .setFreeBytes(0)
                    .setCause(cause)
                    .setNextStep(nextStep);
        }
        return status.build();
    }
}
