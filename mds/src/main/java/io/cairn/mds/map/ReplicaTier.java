package io.cairn.mds.map;

import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.Pool;
import java.util.ArrayList;
import java.util.List;

/**
 * Replicas of a pool that are on disks of one device class; the first tier has the primary.
 * Immutable; any thread.
 *
 * @param deviceClass {@code DEVICE_CLASS_UNKNOWN}: any disk
 * @param size replicas of each PG
 */
public record ReplicaTier(DeviceClass deviceClass, int size) {
    /** Of a pool, in the order of its replicas. */
    public static List<ReplicaTier> of(Pool pool) {
        List<DeviceClass> classes = pool.getReplicaClassesList();
        if (classes.size() <= 1) {
            DeviceClass all =
                    classes.isEmpty() ? DeviceClass.DEVICE_CLASS_UNKNOWN : classes.getFirst();
            return List.of(new ReplicaTier(all, pool.getSize()));
        }
        List<ReplicaTier> tiers = new ArrayList<>();
        for (DeviceClass next : classes) {
            if (!tiers.isEmpty() && tiers.getLast().deviceClass == next) {
                tiers.add(new ReplicaTier(next, tiers.removeLast().size + 1));
            } else {
                tiers.add(new ReplicaTier(next, 1));
            }
        }
        return tiers;
    }

    public boolean takes(Disk disk) {
        return deviceClass == DeviceClass.DEVICE_CLASS_UNKNOWN
                || disk.getDeviceClass() == deviceClass;
    }
}
