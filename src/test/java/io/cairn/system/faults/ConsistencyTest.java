package io.cairn.system.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.history.Linearizability.Verdict;
import io.cairn.system.history.Logs;
import io.cairn.system.history.NameSets;
import io.cairn.system.history.Operation;
import io.cairn.system.history.Registers;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import io.cairn.system.support.VirtualNetwork;
import io.cairn.system.workload.Appended;
import io.cairn.system.workload.BlockRegisters;
import io.cairn.system.workload.ClosedRegisters;
import io.cairn.system.workload.Names;
import io.cairn.system.workload.RenamedRegisters;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Programs on three mounts read and write the same objects while servers and mounts are killed,
 * suspended and cut off from each other. What all of them were told is what one file system that
 * keeps its promises could have told: {@code -Dcairn.test.consistency.seconds=600}. Each part is in
 * a network namespace of its own; skipped where those cannot be made.
 *
 * <p>What is promised (docs/mount.md, docs/architecture/files.md):
 *
 * <ul>
 *   <li>accesses with O_DIRECT to a piece of one chunk, and changes of names, each take effect at
 *       one moment;
 *   <li>through the page cache, what was written and closed is what another opens and reads;
 *   <li>a name that is given another file by rename is always there;
 *   <li>records that are appended stand one behind the other, each whole and once;
 *   <li>no error, but on a mount that was killed or not heard of for longer than its session lives.
 * </ul>
 *
 * An operation that failed may have been carried out. When something contradicts this, history and
 * logs are kept below {@code src/target}.
 */
@Tag("slow")
class ConsistencyTest {
    private static final int SECONDS = Integer.getInteger("cairn.test.consistency.seconds", 15);
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final List<String> MEMBERS = List.of("mds-1", "mds-2", "mds-3");
    private static final List<String> DATA = List.of("data-1", "data-2", "data-3", "data-4");
    private static final int MOUNTS = 3;

    /** Of so many histories the checker may give up on one. */
    private static final int UNDECIDED_EACH = 10;

    private final long seed = TestSeed.of("ConsistencyTest");
    private final Random random = new Random(seed);
    private final List<WorkingMount> working = new ArrayList<>();
    private final List<WorkingMount> all = new ArrayList<>();
    private final List<String> found = new ArrayList<>();
    private int verdicts;
    private int undecided;
    private boolean judged;

    @Test
    void nothingContradictsWhatIsPromised() throws Exception {
        VirtualNetwork.Attempt attempt = VirtualNetwork.make();
        if (attempt.network() == null) {
            System.out.println("ConsistencyTest skipped: " + attempt.reason());
        }
        assumeThat(attempt.network()).as(attempt.reason()).isNotNull();
        try (VirtualNetwork network = Objects.requireNonNull(attempt.network());
                Cluster cluster = Cluster.temporary("--processes", "--mds", "3", "--data", "4")) {
            List<String> faults = List.of();
            try {
                start(cluster, network);
                faults = disturb(cluster, network);
                stopWork();
                check(cluster);
                judged = true;
            } finally {
                all.forEach(WorkingMount::end);
                if (!judged || !found.isEmpty()) {
                    keep(cluster, faults);
                }
            }
        }
        assertThat(found).as("seed " + seed + ", see " + kept()).isEmpty();
    }

    private void start(Cluster cluster, VirtualNetwork network) throws IOException {
        cluster.layOut();
        for (String member : MEMBERS) {
            cluster.configure(
                    member, c -> c + "\n[sessions]\nrenew_interval = \"1s\"\nexpiry = \"10s\"\n");
        }
        cluster.join(network);
        MEMBERS.forEach(member -> cluster.start(member, "mds", "--new-cluster"));
        DATA.forEach(part -> cluster.start(part, "dataserver"));
        Awaitility.await("the cluster serves")
                .ignoreExceptionsMatching(e -> true) // nobody answers yet
                .ignoreExceptionsInstanceOf(AssertionError.class)
                .atMost(PATIENCE)
                .until(() -> cluster.status().at("/pgs/active").asInt() > 0);
        try (var first = cluster.mount("first")) {
            Path root = Files.createDirectory(first.mnt().resolve(WorkingMount.OBJECTS));
            BlockRegisters.prepare(root);
            ClosedRegisters.prepare(root);
            RenamedRegisters.prepare(root);
            Appended.prepare(root);
            Names.prepare(root);
        }
        for (int i = 0; i < MOUNTS; i++) {
            working.add(newMount(cluster));
        }
    }

    private WorkingMount newMount(Cluster cluster) {
        WorkingMount mount =
                new WorkingMount(cluster, "m" + (1 + all.size()), "" + random.nextLong());
        all.add(mount);
        return mount;
    }

    private List<String> disturb(Cluster cluster, VirtualNetwork network)
            throws InterruptedException {
        List<String> servers = new ArrayList<>(MEMBERS);
        servers.addAll(DATA);
        RandomFaults faults =
                new RandomFaults(
                        cluster, network, random, servers, working, () -> newMount(cluster));
        long end = System.nanoTime() + Duration.ofSeconds(SECONDS).toNanos();
        while (System.nanoTime() < end) {
            faults.next();
        }
        System.out.println(String.join("\n", faults.told()));
        return faults.told();
    }

    /** Everything is whole: whatever waits must end. */
    private void stopWork() throws InterruptedException, IOException {
        working.forEach(WorkingMount::stop);
        for (WorkingMount mount : working) {
            if (!mount.hasStopped(PATIENCE) || !mount.hasSucceeded()) {
                found.add("worker of " + mount.name() + ": " + mount.words());
            }
        }
    }

    private void check(Cluster cluster) throws InterruptedException, IOException {
        WorkingMount last = new WorkingMount(cluster, "last");
        all.add(last);
        assertThat(last.hasStopped(PATIENCE)).as("everything is read").isTrue();
        if (!last.hasSucceeded()) {
            found.add("the last reads: " + last.words());
        }
        List<Operation> history = history();
        List<String> lost =
                all.stream().filter(WorkingMount::wasLost).map(WorkingMount::name).toList();
        for (Operation o : history) {
            if (!o.ok() && !lost.contains(o.mount())) {
                found.add("an error: " + o);
            }
        }
        Map<String, List<Operation>> byObject =
                history.stream()
                        .collect(
                                Collectors.groupingBy(
                                        Operation::object, TreeMap::new, Collectors.toList()));
        for (Map.Entry<String, List<Operation>> one : byObject.entrySet()) {
            check(one.getKey(), one.getValue(), last.mnt(), lost);
        }
        System.out.printf(
                "ConsistencyTest: %d operations, %d not answered, mounts lost: %s, %d of %d histories undecided%n",
                history.size(),
                history.stream().filter(o -> o.outcome() == Operation.Outcome.UNKNOWN).count(),
                lost,
                undecided,
                verdicts);
        if (undecided * UNDECIDED_EACH > verdicts) {
            found.add(
                    "too much is not judged: %d of %d histories are undecided"
                            .formatted(undecided, verdicts));
        }
    }

    private void check(String object, List<Operation> operations, Path mount, List<String> lost)
            throws IOException {
        switch (operations.getFirst().kind()) {
            case BlockRegisters.KIND ->
                    judge(object, Registers.linearizable(BlockRegisters.INITIAL, operations));
            case RenamedRegisters.KIND ->
                    judge(object, Registers.linearizable(RenamedRegisters.INITIAL, operations));
            case ClosedRegisters.KIND ->
                    judge(object, Registers.closedToOpen(ClosedRegisters.INITIAL, operations));
            case Names.KIND ->
                    NameSets.check(operations)
                            .forEach((name, verdict) -> judge(object + "/" + name, verdict));
            case Appended.KIND -> {
                Path log = mount.resolve(WorkingMount.OBJECTS).resolve(object);
                Logs.check(operations, Appended.names(log), o -> !lost.contains(o.mount()))
                        .forEach(text -> found.add(object + ": " + text));
            }
            default -> throw new AssertionError(object);
        }
    }

    private void judge(String object, Verdict verdict) {
        verdicts++;
        switch (verdict) {
            case Verdict.Contradiction(String text) -> found.add(object + ": " + text);
            case Verdict.Undecided() -> undecided++;
            case Verdict.Linearizable() -> {}
        }
    }

    private List<Operation> history() {
        return all.stream()
                .flatMap(mount -> mount.operations().stream())
                .sorted(Comparator.comparingLong(Operation::invokedNanos))
                .toList();
    }

    private Path kept() {
        return Cluster.REPOSITORY.resolve("src/target/consistency-" + seed);
    }

    private void keep(Cluster cluster, List<String> faults) throws IOException {
        Files.createDirectories(kept());
        Files.write(kept().resolve("found"), found);
        Files.write(kept().resolve("faults"), faults);
        Files.write(
                kept().resolve("history"), history().stream().map(Operation::toString).toList());
        Shell.bash(
                """
                cd '%s' && cp *.log *.history '%s'
                for log in state/*/log; do cp $log '%s'/$(basename $(dirname $log)).log; done
                """
                        .formatted(cluster.base(), kept(), kept()));
    }
}
