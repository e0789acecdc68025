package io.cairn.system.faults;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Stall;
import io.cairn.system.support.VirtualNetwork;
import java.time.Duration;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/**
 * Servers and mounts that are killed, suspended and cut off, one or two at a time, for a moment or
 * longer than anybody waits for them. One thread.
 */
final class RandomFaults {
    private static final int LONGEST_MILLIS = 8000;

    /** Between two faults: the mounts are heard of again. */
    private static final int QUIET_MILLIS = 2500;

    /** Longer than a session lives without its mount. */
    private static final int BEYOND_EXPIRY_MILLIS = 13_000;

    /** One that lasts until it is ended. */
    private interface Fault {
        void end();
    }

    private final Cluster cluster;
    private final VirtualNetwork network;
    private final Random random;
    private final List<String> servers;
    private final List<WorkingMount> mounts;
    private final Supplier<WorkingMount> newMount;
    private final List<String> told = new ArrayList<>();

    /**
     * @param servers names of the parts
     * @param mounts those that work; one that is killed is replaced
     */
    RandomFaults(
            Cluster cluster,
            VirtualNetwork network,
            Random random,
            List<String> servers,
            List<WorkingMount> mounts,
            Supplier<WorkingMount> newMount) {
        this.cluster = cluster;
        this.network = network;
        this.random = random;
        this.servers = servers;
        this.mounts = mounts;
        this.newMount = newMount;
    }

    /** What was done, with the time of day. */
    List<String> told() {
        return told;
    }

    /**
     * One or two at once; returns when all is whole again but for what the servers must recover.
     */
    void next() throws InterruptedException {
        List<String> victims = new ArrayList<>(servers);
        Collections.shuffle(victims, random);
        List<Fault> faults = new ArrayList<>();
        int number = 1 + random.nextInt(2);
        boolean ofMount = false;
        for (int i = 0; i < number; i++) {
            int kind = random.nextInt(10);
            if (kind >= 7 && !ofMount) {
                ofMount = true;
                faults.add(ofMount(kind));
            } else if (kind >= 5) {
                faults.add(ofLinks(victims.get(i)));
            } else {
                faults.add(ofServer(victims.get(i)));
            }
            pass(random.nextInt(i == 0 ? 1500 : LONGEST_MILLIS));
        }
        Collections.shuffle(faults, random);
        for (Fault fault : faults) {
            fault.end();
            pass(random.nextInt(500));
        }
        tell("whole");
        pass(QUIET_MILLIS + random.nextInt(3000));
    }

    private void tell(String what) {
        told.add("%.6f %s %s".formatted(System.nanoTime() / 1e9, LocalTime.now(), what));
    }

    /** Lets time pass while the work goes on. */
    private void pass(int millis) throws InterruptedException {
        if (mounts.getFirst().hasStopped(Duration.ofMillis(millis))) {
            throw new AssertionError("a worker has ended by itself");
        }
    }

    private Fault ofServer(String part) {
        if (random.nextInt(3) == 0) {
            tell("suspend " + part);
            Stall stall = new Stall(cluster, part);
            return () -> {
                tell("resume " + part);
                stall.close();
            };
        }
        tell("kill " + part);
        Cluster.kill9(List.of(cluster.process(part).orElseThrow()));
        return () -> {
            tell("start " + part);
            cluster.start(part, part.startsWith("mds") ? "mds" : "dataserver");
        };
    }

    private Fault ofLinks(String part) {
        List<String> hosts = new ArrayList<>(servers);
        mounts.forEach(m -> hosts.add(m.name()));
        switch (random.nextInt(3)) {
            case 0 -> cut(List.of(part), hosts);
            case 1 -> {
                Collections.shuffle(hosts, random);
                int half = 1 + random.nextInt(hosts.size() / 2);
                cut(hosts.subList(0, half), hosts.subList(half, hosts.size()));
            }
            default -> {
                for (int i = 0; i < 3; i++) {
                    Collections.shuffle(hosts, random);
                    cut(hosts.subList(0, 1), hosts.subList(1, 2));
                }
            }
        }
        return this::heal;
    }

    private void heal() {
        tell("heal");
        network.heal();
    }

    /** In both directions or in one. */
    private void cut(List<String> some, List<String> others) {
        int directions = 1 + random.nextInt(4);
        tell(
                "cut "
                        + some
                        + List.of("", " to ", " from ", " and ", " and ").get(directions)
                        + others);
        for (String a : some) {
            for (String b : others) {
                if (!a.equals(b)) {
                    if (directions != 2) {
                        network.cut(a, b);
                    }
                    if (directions != 1) {
                        network.cut(b, a);
                    }
                }
            }
        }
    }

    private Fault ofMount(int kind) throws InterruptedException {
        int number = random.nextInt(mounts.size());
        WorkingMount mount = mounts.get(number);
        boolean beyondExpiry = random.nextInt(4) == 0;
        if (kind == 7) {
            tell("kill mount " + mount.name());
            mount.kill();
            mounts.set(number, newMount.get());
            tell("mounted " + mounts.get(number).name());
            return () -> {};
        }
        Fault fault;
        if (kind == 8) {
            tell("suspend mount " + mount.name());
            Stall stall = mount.stall();
            fault =
                    () -> {
                        tell("resume mount " + mount.name());
                        stall.close();
                    };
        } else {
            List<String> from = new ArrayList<>(servers);
            Collections.shuffle(from, random);
            cut(
                    List.of(mount.name()),
                    random.nextBoolean() ? servers : from.subList(0, 1 + random.nextInt(4)));
            fault = this::heal;
        }
        if (beyondExpiry) {
            pass(BEYOND_EXPIRY_MILLIS);
        }
        return fault;
    }
}
