package io.cairn.mds.cluster;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.SetPoolRequest;
import io.cairn.mds.map.PgPlanner;
import io.cairn.mds.map.ReplicaTier;
import java.util.List;

/**
 * Makes, changes and removes pools in the cluster map. {@link PgTables} gives a new pool its
 * placement groups, {@link Placement} moves those of one that was changed. Pure; any thread.
 */
final class Pools {
    private static final int MAX_SIZE = 16;
    private static final int LEAST_PGS = 16;

    private Pools() {}

    /** The pool of this name; ENOENT if there is none. */
    static Pool named(ClusterMap map, String name) {
        return map.pools().stream()
                .filter(p -> p.getName().equals(name))
                .findFirst()
                .orElseThrow(() -> new FsException(Errno.ENOENT, "there is no pool " + name));
    }

    /**
     * A new pool with what was left open filled in. EINVAL for what no pool can be, EEXIST for a
     * name that is taken, ENOSPC where there are too few failure domains.
     *
     * @param grows whether the number of its PGs can change: then it follows that of the disks,
     *     unless it is given
     */
    static Pool created(ClusterMap base, Pool wanted, boolean grows) {
        int id = 1 + base.poolsEver().stream().mapToInt(Pool::getId).max().orElse(0);
        Pool.Builder pool = wanted.toBuilder().setId(id).setRemoved(false).clearFill();
        if (pool.getMinSize() == 0) {
            pool.setMinSize(Math.min(2, pool.getSize()));
        }
        if (pool.getPgCount() == 0) {
            pool.setPgAuto(grows);
            pool.setPgCount(pgCount(new PoolDisks(pool.build(), base.disks())));
        }
        if (id > PgHash.MAX_POOL) {
            throw new FsException(Errno.ENOSPC, "no more pools can be made");
        }
        checkName(base, pool.getName());
        check(pool.build());
        checkDomains(base, pool.build());
        return pool.build();
    }

    /** A power of two with which each disk has enough replicas. */
    private static int pgCount(PoolDisks disks) {
        int least = (int) Math.ceil(disks.groups(PoolDisks.REPLICAS_PER_DISK));
        int power = Integer.highestOneBit(Math.max(1, least - 1)) << 1;
        return Math.clamp(power, LEAST_PGS, PgHash.MAX_PGS);
    }

    /**
     * The pool as it is to be. ENOENT if there is none of that name, EAGAIN where it is to have
     * fewer PGs and not all members of the group and data servers know merges; else as {@link
     * #created}.
     *
     * @param merges whether all members of the group know them
     */
    static Pool changed(ClusterMap base, SetPoolRequest wanted, boolean merges) {
        Pool present = named(base, wanted.getName());
        Pool.Builder pool = present.toBuilder();
        if (wanted.hasSize()) {
            pool.setSize(wanted.getSize());
        }
        if (wanted.hasMinSize()) {
            pool.setMinSize(wanted.getMinSize());
        }
        if (wanted.hasFailureDomain()) {
            pool.setFailureDomain(wanted.getFailureDomain());
        }
        if (wanted.getSetClasses()) {
            pool.clearReplicaClasses().addAllReplicaClasses(wanted.getReplicaClassesList());
        }
        if (wanted.hasNearFullPercent()) {
            pool.setNearFullPercent(wanted.getNearFullPercent());
        }
        if (wanted.hasFullPercent()) {
            pool.setFullPercent(wanted.getFullPercent());
        }
        if (pool.getNearFullPercent() == 0) {
            pool.clearNearFullPercent(); // the cluster's again
        }
        if (pool.getFullPercent() == 0) {
            pool.clearFullPercent();
        }
        if (wanted.hasNewName() && !wanted.getNewName().equals(present.getName())) {
            checkName(base, wanted.getNewName());
            pool.setName(wanted.getNewName());
        }
        if (wanted.hasPgCount() || wanted.getPgAuto()) {
            setPgs(base, pool, wanted, merges);
        }
        check(pool.build());
        if (wanted.hasSize() || wanted.hasFailureDomain() || wanted.getSetClasses()) {
            checkDomains(base, pool.build());
        }
        return pool.build();
    }

    private static void setPgs(
            ClusterMap base, Pool.Builder pool, SetPoolRequest wanted, boolean merges) {
        pool.setPgAuto(wanted.getPgAuto());
        if (wanted.getPgAuto()) {
            return;
        }
        int count = wanted.getPgCount();
        if (count < 1 || count > PgHash.MAX_PGS) {
            refuse("a pool has 1 to " + PgHash.MAX_PGS + " placement groups");
        }
        if (base.pg(PgHash.pg(pool.getId(), 0)) == null) {
            pool.setPgCount(count).clearPgBase().clearPgTarget(); // it has none yet
        } else {
            if (count < ClusterMap.baseOf(pool.build())) {
                refuse(
                        "pool %s was made with %d placement groups: it cannot have fewer"
                                .formatted(pool.getName(), ClusterMap.baseOf(pool.build())));
            }
            if (count < pool.getPgCount()) {
                requireMerges(base, merges);
            }
            target(pool, count);
        }
    }

    private static void requireMerges(ClusterMap base, boolean merges) {
        if (!merges) {
            throw new FsException(Errno.EAGAIN, AdminChanges.KNOWN_LATER);
        }
        for (Server server : base.servers()) {
            if (!server.getUnites()) {
                throw new FsException(
                        Errno.EAGAIN,
                        "data server %d (%s) is of a release that does not merge placement groups: upgrade it"
                                .formatted(server.getId(), server.getAddress()));
            }
        }
    }

    /** The pool as it is to grow, or to shrink. */
    static Pool withTarget(Pool pool, int target) {
        Pool.Builder then = pool.toBuilder();
        target(then, target);
        return then.build();
    }

    private static void target(Pool.Builder pool, int target) {
        if (pool.getPgBase() == 0) {
            pool.setPgBase(pool.getPgCount());
        }
        pool.setPgTarget(target);
    }

    private static void checkName(ClusterMap base, String name) {
        if (!name.matches("[A-Za-z][A-Za-z0-9._-]{0,62}")) {
            throw new FsException(
                    Errno.EINVAL,
                    "a pool's name is a letter and up to 62 letters, digits, '.', '_' or '-'");
        }
        if (base.pools().stream().anyMatch(p -> p.getName().equals(name))) {
            throw new FsException(Errno.EEXIST, "there is a pool " + name + " already");
        }
    }

    private static void check(Pool pool) {
        int classes = pool.getReplicaClassesCount();
        if (pool.getSize() < 1 || pool.getSize() > MAX_SIZE) {
            refuse("a pool has 1 to " + MAX_SIZE + " replicas");
        }
        if (pool.getMinSize() < 1 || pool.getMinSize() > pool.getSize()) {
            refuse(
                    "min size is 1 to the number of replicas, %d, and not %d"
                            .formatted(pool.getSize(), pool.getMinSize()));
        }
        if (pool.getPgCount() < 1 || pool.getPgCount() > PgHash.MAX_PGS) {
            refuse("a pool has 1 to " + PgHash.MAX_PGS + " placement groups");
        }
        if (classes > 1 && classes != pool.getSize()) {
            refuse(
                    "name one device class, or one for each of %d replicas, and not %d"
                            .formatted(pool.getSize(), classes));
        }
        List<DeviceClass> each =
                ReplicaTier.of(pool).stream().map(ReplicaTier::deviceClass).toList();
        if (each.stream().distinct().count() < each.size()
                || (classes > 0 && each.contains(DeviceClass.DEVICE_CLASS_UNKNOWN))) {
            refuse("device classes are ssd and hdd, equal ones side by side");
        }
    }

    private static void checkDomains(ClusterMap base, Pool pool) {
        if (PgPlanner.domainCount(base, pool) < pool.getSize()) {
            PgPlanner.plan(base, pool); // says what it lacks
        }
    }

    private static void refuse(String why) {
        throw new FsException(Errno.EINVAL, why);
    }

    static MapUpdate.Builder update(Pool pool) {
        return MapUpdate.newBuilder().addPools(pool);
    }
}
