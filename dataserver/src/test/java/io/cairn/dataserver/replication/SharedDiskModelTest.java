package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Servers that write to one disk until it is full, each knowing only what the disk answered it
 * last: together they never send more than it has, so that none of them has to wait for it.
 */
class SharedDiskModelTest {
    private static final int[] DISK = {1};
    private static final int RUNS = 300;
    private static final long RESERVE = 4 << 20;

    @Test
    void whatIsSentIsWhatTheDiskHas() {
        long first = TestSeed.of("SharedDiskModelTest");
        for (long seed = first; seed < first + RUNS; seed++) {
            run(seed);
        }
    }

    private static final class Server {
        final SpaceLedger ledger = new SpaceLedger(RESERVE, 64 << 20);
        final List<Integer> sent = new ArrayList<>();
        final List<int[]> answered = new ArrayList<>();
        boolean idle;
    }

    /** Bytes of each operation, and the disk's word in pages. */
    private static void run(long seed) {
        Random random = new Random(seed);
        int count = 2 + random.nextInt(4);
        List<Server> servers = new ArrayList<>();
        long free = (64L << 20) + random.nextInt(1 << 30);
        for (int i = 0; i < count; i++) {
            Server s = new Server();
            s.ledger.servers(count);
            s.ledger.report(1, Ops.space(free));
            servers.add(s);
        }
        int largest = random.nextBoolean() ? 64 << 10 : 1 << 20; // as clients cut their requests
        int refusals = 0;
        long now = 0;
        while (refusals < 2000) {
            now += 20_000_000;
            long time = now;
            servers.forEach(each -> each.ledger.tick(time));
            Server s = servers.get(random.nextInt(count));
            switch (random.nextInt(4)) {
                case 0 -> {
                    s.idle = random.nextInt(50) == 0 ? !s.idle : s.idle;
                    refusals += s.idle || send(s, random, largest) ? 0 : 1;
                }
                case 1 -> {
                    if (!s.sent.isEmpty()) {
                        int bytes = s.sent.removeFirst();
                        free -= bytes;
                        assertThat(free).as("seed %d", seed).isNotNegative();
                        s.answered.add(new int[] {bytes, (int) (free >> 12)});
                    }
                }
                default -> {
                    if (!s.answered.isEmpty()) {
                        int[] answer = s.answered.removeFirst();
                        s.ledger.report(1, Ops.space((long) answer[1] << 12));
                        s.ledger.charge(1, -answer[0]);
                        s.ledger.chargeTotal(-answer[0]);
                    }
                }
            }
        }
        assertThat(free).as("most of it was given out").isLessThan(64 << 20);
    }

    private static boolean send(Server s, Random random, int largest) {
        int bytes = (1 + random.nextInt(largest / 4096)) * 4096;
        if (!s.ledger.withinBound(0, bytes)
                || !s.ledger.withinWindow(1, 0, bytes)
                || !s.ledger.fits(DISK, bytes)) {
            return false;
        }
        s.ledger.charge(1, bytes);
        s.ledger.chargeTotal(bytes);
        s.sent.add(bytes);
        return true;
    }
}
