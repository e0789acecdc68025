package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.api.CairnClient;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.client.model.FileModel;
import io.cairn.common.proto.Method;
import io.cairn.common.seed.TestSeed;
import java.io.IOException;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** {@link FileModel} on the fake cluster: undisturbed, striped, and with every fault there is. */
class ClientModelTest {
    private static final int STEPS = Integer.getInteger("cairn.test.model.steps", 800);

    @Test
    void oneStripe() throws IOException {
        run(new FakeCluster(), "oneStripe", false);
    }

    @Test
    void manyStripes() throws IOException {
        run(new FakeCluster(1, 3, FakeCluster.layout(4096, 3, 16384)), "manyStripes", false);
    }

    @Test
    void faults() throws IOException {
        run(new FakeCluster(3, 3, FakeCluster.layout(8192, 2, 32768)), "faults", true);
    }

    private static void run(FakeCluster cluster, String test, boolean faulty) {
        Random random = TestSeed.random("ClientModelTest." + test);
        try (cluster) {
            if (faulty) {
                makeFaulty(cluster, random.nextLong());
            }
            try (CairnClient client = CairnClients.connect(cluster.config());
                    CairnClient other = CairnClients.connect(cluster.config())) {
                Random between = new Random(random.nextLong());
                new FileModel(client, other, random, 300_000, 70_000)
                        .run("f", 3, STEPS, () -> disturb(cluster, between, faulty));
            }
        }
        assertThat(cluster.chunks().violations()).isEmpty();
    }

    static void makeFaulty(FakeCluster cluster, long seed) {
        for (int i = 0; i < 3; i++) {
            Random faults = new Random(seed + i);
            cluster.data(i)
                    .faults(op -> {
                        synchronized (faults) {
                            return switch (faults.nextInt(400)) {
                                case 0 -> Fault.CUT_BEFORE;
                                case 1 -> Fault.CUT_AFTER;
                                case 2, 3, 4, 5 -> Fault.RETRY;
                                case 6, 7 -> Fault.CORRUPT;
                                default -> Fault.NONE;
                            };
                        }
                    });
            cluster.mds(i)
                    .faults(method -> {
                        synchronized (faults) {
                            return method == Method.OPEN_SESSION
                                    ? Fault.NONE
                                    : switch (faults.nextInt(300)) {
                                        case 0 -> Fault.CUT_BEFORE;
                                        case 1 -> Fault.CUT_AFTER;
                                        case 2 -> Fault.RETRY;
                                        default -> Fault.NONE;
                                    };
                        }
                    });
        }
    }

    static void disturb(FakeCluster cluster, Random random, boolean faulty) {
        if (random.nextInt(30) == 0) {
            for (long inode = 2; inode < 5; inode++) {
                cluster.chunks().settleTruncations(inode);
            }
        }
        if (faulty && random.nextInt(150) == 0) {
            cluster.movePrimaries();
        }
        if (faulty && random.nextInt(200) == 0) {
            cluster.leader(cluster.mds(random.nextInt(3)));
        }
    }
}
