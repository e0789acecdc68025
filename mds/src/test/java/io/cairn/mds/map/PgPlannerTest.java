package io.cairn.mds.map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.seed.TestSeed;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PgPlannerTest {
    private static final long SEED = TestSeed.of("PgPlannerTest");
    private static final int TOPOLOGIES = Integer.getInteger("cairn.test.topologies", 100);

    /** A map that can be changed; disks and servers are numbered from 1. */
    private static final class Topology {
        final List<Server> servers = new ArrayList<>();
        final List<Disk> disks = new ArrayList<>();
        Pool pool = Pool.getDefaultInstance();
        List<List<Integer>> table = List.of();

        ClusterMap map() {
            MapUpdate.Builder full =
                    MapUpdate.newBuilder()
                            .setEpoch(1)
                            .addAllServers(servers)
                            .addAllDisks(disks)
                            .addPools(pool);
            for (int i = 0; i < table.size(); i++) {
                full.addPgs(
                        PlacementGroup.newBuilder()
                                .setPg(PgHash.pg(pool.getId(), i))
                                .addAllReplicas(table.get(i)));
            }
            return ClusterMap.of(full.build());
        }

        void server(String host, String rack) {
            servers.add(
                    Server.newBuilder()
                            .setId(servers.size() + 1)
                            .setHost(host)
                            .setRack(rack)
                            .build());
        }

        void disk(int server, long capacity) {
            disks.add(
                    Disk.newBuilder()
                            .setId(disks.size() + 1)
                            .setServer(server)
                            .setCapacityBytes(capacity)
                            .build());
        }

        void pool(int size, int pgs, FailureDomain domain) {
            pool =
                    Pool.newBuilder()
                            .setId(1)
                            .setName("p")
                            .setSize(size)
                            .setMinSize(1)
                            .setPgCount(pgs)
                            .setFailureDomain(domain)
                            .build();
        }

        Map<Integer, String> domains() {
            ClusterMap map = map();
            Map<Integer, String> domains = new HashMap<>();
            disks.forEach(d ->
                    domains.put(d.getId(), FailureDomains.label(map, d, pool.getFailureDomain())));
            return domains;
        }

        Map<Integer, Integer> counts(List<List<Integer>> table) {
            Map<Integer, Integer> counts = new HashMap<>();
            disks.forEach(d -> counts.put(d.getId(), 0));
            table.forEach(pg -> pg.forEach(d -> counts.merge(d, 1, Integer::sum)));
            return counts;
        }
    }

    private static Topology random(Random random) {
        Topology t = new Topology();
        int racks = 1 + random.nextInt(6);
        int hosts = racks + random.nextInt(10);
        int servers = hosts + random.nextInt(6);
        for (int s = 0; s < servers; s++) {
            int host = s % hosts;
            t.server("h" + host, "r" + host % racks);
            int disks = 1 + random.nextInt(5);
            for (int d = 0; d < disks; d++) {
                t.disk(s + 1, random.nextBoolean() ? 1L << 40 : (1L + random.nextInt(9)) << 38);
            }
        }
        FailureDomain domain = FailureDomain.forNumber(random.nextInt(4));
        t.pool(1, 1 << random.nextInt(10), domain);
        int most = PgPlanner.domainCount(t.map(), t.pool);
        t.pool(1 + random.nextInt(Math.min(most, 5)), t.pool.getPgCount(), domain);
        return t;
    }

    /** The share by weight, cut where a domain would need a PG twice; by bisection. */
    private static Map<Integer, Double> ideals(Topology t) {
        Map<Integer, String> domainOf = t.domains();
        Map<String, Double> weights = new HashMap<>();
        t.disks.stream()
                .filter(PgPlanner::isPlaceable)
                .forEach(d ->
                        weights.merge(
                                domainOf.getOrDefault(d.getId(), ""),
                                PgPlanner.weight(d),
                                Double::sum));
        double low = 0;
        double high = 1;
        for (int i = 0; i < 200; i++) {
            double perByte = (low + high) / 2;
            double sum =
                    weights.values().stream()
                            .mapToDouble(w -> Math.min(t.pool.getPgCount(), w * perByte))
                            .sum();
            if (sum < (double) t.pool.getPgCount() * t.pool.getSize()) {
                low = perByte;
            } else {
                high = perByte;
            }
        }
        Map<Integer, Double> ideals = new HashMap<>();
        for (Disk d : t.disks) {
            double domain = weights.getOrDefault(domainOf.getOrDefault(d.getId(), ""), 1.0);
            ideals.put(
                    d.getId(),
                    !PgPlanner.isPlaceable(d)
                            ? 0
                            : PgPlanner.weight(d)
                                    / domain
                                    * Math.min(t.pool.getPgCount(), domain * high));
        }
        return ideals;
    }

    private static void check(Topology t, List<List<Integer>> table) {
        assertThat(table).hasSize(t.pool.getPgCount());
        Map<Integer, Integer> primaries = new HashMap<>();
        Map<Integer, String> domainOf = t.domains();
        for (List<Integer> pg : table) {
            assertThat(pg).hasSize(t.pool.getSize());
            Set<String> domains = new HashSet<>();
            pg.forEach(d -> domains.add(domainOf.getOrDefault(d, "")));
            assertThat(domains).hasSize(t.pool.getSize());
            primaries.merge(pg.getFirst(), 1, Integer::sum);
        }
        Map<Integer, Integer> counts = t.counts(table);
        ideals(t)
                .forEach((disk, ideal) ->
                        assertThat((double) counts.getOrDefault(disk, 0))
                                .as("disk " + disk)
                                .isBetween(ideal - 1.001, ideal + 1.001));
        counts.forEach((disk, count) ->
                assertThat(primaries.getOrDefault(disk, 0))
                        .as("primaries of disk " + disk)
                        .isBetween(
                                count / t.pool.getSize(), Math.ceilDiv(count, t.pool.getSize())));
    }

    private static int moved(List<List<Integer>> from, List<List<Integer>> to) {
        int moved = 0;
        for (int i = 0; i < to.size(); i++) {
            List<Integer> added = new ArrayList<>(to.get(i));
            added.removeAll(from.get(i));
            moved += added.size();
        }
        return moved;
    }

    @Test
    void randomTopologiesAreBalancedAndMoveLittle() {
        long moved = 0;
        long needed = 0;
        for (int i = 0; i < TOPOLOGIES; i++) {
            Random random = new Random(SEED + i);
            Topology t = random(random);
            t.table = PgPlanner.plan(t.map(), t.pool);
            check(t, t.table);
            assertThat(PgPlanner.plan(t.map(), t.pool)).as("nothing changed").isEqualTo(t.table);
            for (int change = 0; change < 4; change++) {
                change(t, random);
                if (PgPlanner.domainCount(t.map(), t.pool) < t.pool.getSize()) {
                    break;
                }
                List<List<Integer>> next = PgPlanner.plan(t.map(), t.pool);
                check(t, next);
                moved += moved(t.table, next);
                Map<Integer, Integer> before = t.counts(t.table);
                Map<Integer, Integer> after = t.counts(next);
                for (Map.Entry<Integer, Integer> e : after.entrySet()) {
                    needed += Math.max(0, e.getValue() - before.getOrDefault(e.getKey(), 0));
                }
                t.table = next;
            }
        }
        // No table with these counts moves less than needed; chains of moves move more: 1.8 % in
        // the median of 300 seeds, 5.3 % in the worst.
        assertThat(moved).isBetween(needed, needed + needed / 10);
    }

    private static void change(Topology t, Random random) {
        int disk = random.nextInt(t.disks.size());
        switch (random.nextInt(4)) {
            case 0 ->
                    t.disks.set(
                            disk,
                            t.disks.get(disk).toBuilder()
                                    .setOut(!t.disks.get(disk).getOut())
                                    .build());
            case 1 -> {
                t.server("new" + t.servers.size(), "r" + random.nextInt(6));
                t.disk(t.servers.size(), 1L << 40);
                t.disk(t.servers.size(), 1L << 39);
            }
            case 2 ->
                    t.disks.set(
                            disk,
                            t.disks.get(disk).toBuilder()
                                    .setWeightPermille(250 * random.nextInt(9))
                                    .build());
            default ->
                    t.disks.set(
                            disk,
                            t.disks.get(disk).toBuilder()
                                    .setCapacityBytes((1L + random.nextInt(9)) << 38)
                                    .build());
        }
    }

    @Test
    void orderOfTheInputDoesNotMatter() {
        Topology t = random(new Random(7));
        List<List<Integer>> table = PgPlanner.plan(t.map(), t.pool);
        Topology shuffled = random(new Random(7));
        Collections.shuffle(shuffled.disks, new Random(1));
        Collections.shuffle(shuffled.servers, new Random(1));
        assertThat(PgPlanner.plan(shuffled.map(), shuffled.pool)).isEqualTo(table);
    }

    @Test
    void threeEqualServersShareEverythingEvenly() {
        Topology t = new Topology();
        for (int s = 1; s <= 3; s++) {
            t.server("", "");
            t.disk(s, 1L << 40);
        }
        t.pool(3, 128, FailureDomain.FAILURE_DOMAIN_SERVER);
        List<List<Integer>> table = PgPlanner.plan(t.map(), t.pool);
        int[] primaries = new int[4];
        table.forEach(pg -> primaries[pg.getFirst()]++);
        assertThat(t.counts(table).values()).containsOnly(128);
        assertThat(Arrays.stream(primaries).skip(1)).allMatch(n -> n == 42 || n == 43);
    }

    @Test
    void tooFewDomainsAreSaid() {
        Topology t = new Topology();
        t.server("same", "");
        t.server("same", "");
        t.disk(1, 1);
        t.disk(2, 1);
        t.pool(2, 8, FailureDomain.FAILURE_DOMAIN_HOST);
        assertThatThrownBy(() -> PgPlanner.plan(t.map(), t.pool))
                .isInstanceOf(FsException.class)
                .hasMessageContaining("needs disks in 2 failure domains (host), there are 1");
    }

    @Test
    void pairsOfDisksMix() {
        Topology t = new Topology();
        for (int s = 1; s <= 10; s++) {
            t.server("", "");
            t.disk(s, 1L << 40);
        }
        t.pool(2, 512, FailureDomain.FAILURE_DOMAIN_SERVER);
        Set<Set<Integer>> pairs = new HashSet<>();
        PgPlanner.plan(t.map(), t.pool).forEach(pg -> pairs.add(Set.copyOf(pg)));
        assertThat(pairs).as("of 45 pairs").hasSizeGreaterThan(40);
    }

    // ---- device classes -------------------------------------------------------------------------

    private static final DeviceClass SSD = DeviceClass.DEVICE_CLASS_SSD;
    private static final DeviceClass HDD = DeviceClass.DEVICE_CLASS_HDD;

    private static void classes(Topology t, DeviceClass... classes) {
        t.pool = t.pool.toBuilder().addAllReplicaClasses(List.of(classes)).build();
    }

    private static void setClass(Topology t, int disk, DeviceClass deviceClass) {
        t.disks.set(disk, t.disks.get(disk).toBuilder().setDeviceClass(deviceClass).build());
    }

    private static void checkClasses(Topology t, List<List<Integer>> table) {
        Map<Integer, String> domainOf = t.domains();
        for (List<Integer> pg : table) {
            assertThat(pg).hasSize(t.pool.getSize());
            Set<String> domains = new HashSet<>();
            for (int i = 0; i < pg.size(); i++) {
                int disk = pg.get(i);
                domains.add(domainOf.getOrDefault(disk, ""));
                List<DeviceClass> wanted = t.pool.getReplicaClassesList();
                assertThat(t.disks.get(disk - 1).getDeviceClass())
                        .isEqualTo(wanted.get(wanted.size() == 1 ? 0 : i));
            }
            assertThat(domains).hasSize(t.pool.getSize());
        }
    }

    /** Every host has both: each disk gets its share of its class, within a few percent. */
    @Test
    void primariesAreOnOneClassAndTheOthersOnAnother() {
        Topology t = new Topology();
        for (int s = 1; s <= 6; s++) {
            t.server("h" + s, "");
            t.disk(s, 1L << 38);
            t.disk(s, 1L << 40);
            t.disk(s, 1L << 40);
        }
        for (int i = 0; i < t.disks.size(); i++) {
            setClass(t, i, i % 3 == 0 ? SSD : HDD);
        }
        t.pool(3, 512, FailureDomain.FAILURE_DOMAIN_HOST);
        classes(t, SSD, HDD, HDD);
        t.table = PgPlanner.plan(t.map(), t.pool);
        checkClasses(t, t.table);
        t.counts(t.table)
                .forEach((disk, count) ->
                        assertThat((double) count)
                                .as("disk %d", disk)
                                .isBetween(0.97 * 512 / 6, 1.03 * 512 / 6));
        assertThat(PgPlanner.plan(t.map(), t.pool)).as("nothing changed").isEqualTo(t.table);

        t.server("h7", "");
        t.disk(7, 1L << 40);
        setClass(t, t.disks.size() - 1, HDD);
        List<List<Integer>> next = PgPlanner.plan(t.map(), t.pool);
        checkClasses(t, next);
        int gained = t.counts(next).getOrDefault(19, 0);
        assertThat(gained).isBetween(75, 82);
        assertThat(moved(t.table, next)).as("only to the new disk").isEqualTo(gained);
    }

    @Test
    void randomTopologiesHoldDeviceClasses() {
        for (int i = 0; i < TOPOLOGIES; i++) {
            holdsDeviceClasses(SEED + i);
        }
    }

    private static void holdsDeviceClasses(long seed) {
        Random random = new Random(seed);
        Topology t = random(random);
        for (int d = 0; d < t.disks.size(); d++) {
            setClass(t, d, random.nextBoolean() ? SSD : HDD);
        }
        int ssds = random.nextInt(t.pool.getSize() + 1);
        for (int r = 0; r < t.pool.getSize(); r++) {
            classes(t, r < ssds ? SSD : HDD);
        }
        for (int change = 0; change < 4; change++) {
            if (PgPlanner.domainCount(t.map(), t.pool) < t.pool.getSize()) {
                Topology lacking = t;
                assertThatThrownBy(() -> PgPlanner.plan(lacking.map(), lacking.pool))
                        .hasMessageContaining("with the device classes it asks for");
                break;
            }
            t.table = PgPlanner.plan(t.map(), t.pool);
            checkClasses(t, t.table);
            assertThat(PgPlanner.plan(t.map(), t.pool)).as("seed " + seed).isEqualTo(t.table);
            int disk = random.nextInt(t.disks.size());
            t.disks.set(
                    disk,
                    t.disks.get(disk).toBuilder().setOut(!t.disks.get(disk).getOut()).build());
        }
    }

    /** Its quotas of the second class cannot be met: one table followed another without end. */
    @Test
    void whatCannotBeBalancedStaysWhereItIs() {
        holdsDeviceClasses(55608047095988L);
    }

    @Test
    void aPoolMayGrowAndShrinkByReplicas() {
        Topology t = new Topology();
        for (int s = 1; s <= 5; s++) {
            t.server("", "");
            t.disk(s, 1L << 40);
        }
        t.pool(2, 128, FailureDomain.FAILURE_DOMAIN_SERVER);
        t.table = PgPlanner.plan(t.map(), t.pool);
        t.pool = t.pool.toBuilder().setSize(3).build();
        List<List<Integer>> more = PgPlanner.plan(t.map(), t.pool);
        check(t, more);
        assertThat(moved(t.table, more)).as("one more of each").isBetween(128, 132);
        t.table = more;
        t.pool = t.pool.toBuilder().setSize(2).build();
        List<List<Integer>> fewer = PgPlanner.plan(t.map(), t.pool);
        check(t, fewer);
        assertThat(moved(more, fewer)).isLessThan(8);
    }
}
