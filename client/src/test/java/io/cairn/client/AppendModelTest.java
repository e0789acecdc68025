package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.common.seed.TestSeed;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Several clients append numbered records of varying length to one file, some of them in flight
 * together: every record is there once and whole, and those of one client in their order.
 */
class AppendModelTest {
    private static final int RECORDS = Integer.getInteger("cairn.test.model.steps", 800);
    private static final int LONGEST = 30_000;

    @Test
    void undisturbed() throws IOException {
        run(new FakeCluster(), "undisturbed", false);
    }

    @Test
    void withEveryFaultThereIs() throws IOException {
        run(new FakeCluster(3, 3, FakeCluster.layout(8192, 2, 32768)), "faults", true);
    }

    private static void run(FakeCluster cluster, String test, boolean faulty) {
        Random random = TestSeed.random("AppendModelTest." + test);
        try (cluster;
                CairnClient one = CairnClients.connect(cluster.config());
                CairnClient two = CairnClients.connect(cluster.config());
                CairnClient three = CairnClients.connect(cluster.config())) {
            List<OpenFile> files = new ArrayList<>(List.of(created(one, "f")));
            long inode = files.getFirst().inode();
            for (CairnClient client : List.of(two, three)) {
                files.add(ClientFixture.get(client.open(inode, random.nextBoolean())));
            }
            // Faults concern the inodes 2 to 4.
            created(one, "g");
            created(one, "h");
            if (faulty) {
                ClientModelTest.makeFaulty(cluster, random.nextLong());
            }
            int[] counts = append(files, random, cluster, faulty);
            for (OpenFile file : files) {
                ClientFixture.get(file.flush());
            }
            check(whole(random.nextBoolean() ? one : three, inode), counts);
        }
        assertThat(cluster.chunks().violations()).isEmpty();
    }

    private static OpenFile created(CairnClient client, String name) {
        return ClientFixture.get(
                client.create(
                        1,
                        ClientFixture.bytes(name),
                        ClientFixture.REGULAR,
                        true,
                        true,
                        ClientFixture.WHO));
    }

    /** How many records each has appended. */
    private static int[] append(
            List<OpenFile> files, Random random, FakeCluster cluster, boolean faulty) {
        int[] counts = new int[files.size()];
        List<CompletableFuture<?>> inFlight = new ArrayList<>();
        for (int i = 0; i < RECORDS; i++) {
            int who = random.nextInt(files.size());
            String record =
                    who
                            + " "
                            + counts[who]++
                            + " "
                            + "x".repeat(random.nextInt(random.nextInt(9) == 0 ? LONGEST : 90))
                            + "\n";
            inFlight.add(ClientFixture.append(files.get(who), record));
            if (random.nextInt(6) == 0) {
                inFlight.add(files.get(who).fsync());
            }
            while (inFlight.size() > 40) {
                ClientFixture.get(inFlight.remove(random.nextInt(inFlight.size())));
            }
            ClientModelTest.disturb(cluster, random, faulty);
        }
        inFlight.forEach(ClientFixture::get);
        return counts;
    }

    private static String whole(CairnClient client, long inode) {
        OpenFile file = ClientFixture.get(client.open(inode));
        StringBuilder text = new StringBuilder();
        String piece;
        do {
            piece = ClientFixture.read(file, text.length(), 1 << 20);
            text.append(piece);
        } while (!piece.isEmpty());
        return text.toString();
    }

    private static void check(String text, int[] counts) {
        Map<String, Integer> next = new HashMap<>();
        for (String line : text.split("\n")) {
            String[] words = line.split(" ", 3);
            assertThat(words).as("a record of three words").hasSize(3);
            assertThat(words[2]).matches("x*");
            assertThat(Integer.parseInt(words[1]))
                    .as("the next record of client " + words[0])
                    .isEqualTo(next.getOrDefault(words[0], 0));
            next.merge(words[0], 1, Integer::sum);
        }
        for (int i = 0; i < counts.length; i++) {
            assertThat(next.getOrDefault("" + i, 0))
                    .as("records of client " + i)
                    .isEqualTo(counts[i]);
        }
    }
}
