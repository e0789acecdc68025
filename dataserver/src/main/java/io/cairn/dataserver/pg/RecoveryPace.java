package io.cairn.dataserver.pg;

import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.time.NanoClock;
import io.cairn.dataserver.ground.RecoveryConfig;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How fast this server, as primary, copies content to replicas that lack it. Clients come first:
 * while their operations take longer on average than they should, the rate is halved every {@link
 * ClientLatency#WINDOW_NANOS}; else it grows again, by a quarter. So recovery takes what clients
 * leave (as a LEDBAT sender does by delay, RFC 6817), and all there is where there are no clients;
 * at most what an administrator allows, in bytes and in pieces of chunks.
 *
 * <p>That counts for all copies by what clients wait for here, and for those to one disk by what
 * they wait for on its server, which says so in its answers.
 *
 * <p>Bytes are counted when they are sent: who may begin a chunk sends all of it, since operations
 * wait for the end, and what was too much is waited for before the next one. Any thread.
 */
public final class RecoveryPace {
    private static final long WINDOW_NANOS = ClientLatency.WINDOW_NANOS;

    /** What may be sent at once after a pause, as time at the present rate. */
    private static final double BURST_SECONDS = 0.1;

    private static final double SLOWER = 0.5;
    private static final double FASTER = 1.25;
    private static final double NANOS_PER_SECOND = 1e9;

    private final RecoveryConfig config;
    private final ClientLatency clients;
    private final NanoClock clock;

    /** In bytes, of all copies. */
    private final Allowance bytes;

    /** In pieces of chunks; 0 a second: no limit. */
    private final Allowance pieces;

    /** In bytes, of copies to disks whose servers' clients have waited too long. */
    private final Map<Integer, Allowance> learners = new HashMap<>();

    /** In bytes a second, as the metadata service says; 0: no limit. */
    private long mostBytes;

    /** What may be sent of something. */
    private static final class Allowance {
        private double perSecond;
        private double left;
        private long countedNanos;
        private long adaptedNanos;

        /** Whether the learner has said, since the rate was adapted, that its clients wait. */
        private boolean slow;

        Allowance(double perSecond, long now) {
            this.perSecond = perSecond;
            countedNanos = now;
            adaptedNanos = now;
        }

        boolean isOpen(long now) {
            double more = perSecond * (now - countedNanos) / NANOS_PER_SECOND;
            left = Math.min(left + more, perSecond * BURST_SECONDS);
            countedNanos = now;
            return left >= 0;
        }

        boolean isDue(long now) {
            return now - adaptedNanos >= WINDOW_NANOS;
        }
    }

    /**
     * @param kinds of operations that clients wait for
     */
    public RecoveryPace(RecoveryConfig config, List<OperationTimer> kinds, NanoClock clock) {
        this.config = config;
        this.clock = clock;
        long now = clock.nanos();
        clients = new ClientLatency(config.clientLatency(), kinds, now);
        bytes = new Allowance(config.maxRate().bytes(), now);
        pieces = new Allowance(0, now);
    }

    /** Whether one more chunk may be copied to the disk now; asked again soon if not. */
    synchronized boolean allows(int disk) {
        long now = clock.nanos();
        if (bytes.isDue(now)) {
            boolean recent = now - bytes.adaptedNanos < 2 * WINDOW_NANOS; // else nothing was copied
            adapt(bytes, clients.isTooLong(now) && recent, now);
        }
        Allowance there = learners.get(disk);
        boolean open = bytes.isOpen(now);
        open &= there == null || there.isOpen(now);
        open &= pieces.isOpen(now) || pieces.perSecond == 0;
        return open;
    }

    /** A piece of a chunk. */
    synchronized void sent(int disk, int size) {
        bytes.left -= size;
        pieces.left--;
        Allowance there = learners.get(disk);
        if (there != null) {
            there.left -= size;
        }
    }

    /**
     * A learner has a piece.
     *
     * @param clientsWait whether operations of clients take longer on its server than they should
     */
    synchronized void answered(int disk, boolean clientsWait) {
        long now = clock.nanos();
        Allowance there = learners.get(disk);
        if (there != null) {
            there.slow |= clientsWait;
            if (there.isDue(now)) {
                adapt(there, there.slow, now);
                there.slow = false;
            }
            if (there.perSecond >= maxRate()) {
                learners.remove(disk);
            }
        } else if (clientsWait) {
            there = new Allowance(bytes.perSecond, now);
            adapt(there, true, now);
            learners.put(disk, there);
        }
    }

    /**
     * Counts from now on, beside what is configured.
     *
     * @param bytesPerSecond of content; 0: no limit but the configured one
     * @param operationsPerSecond pieces of chunks; 0: no limit
     */
    public synchronized void limit(long bytesPerSecond, long operationsPerSecond) {
        if (operationsPerSecond != pieces.perSecond) {
            pieces.perSecond = operationsPerSecond;
            pieces.left = 0;
        }
        mostBytes = bytesPerSecond;
        bytes.perSecond = Math.min(bytes.perSecond, maxRate());
    }

    private double maxRate() {
        long configured = config.maxRate().bytes();
        return mostBytes == 0 ? configured : Math.min(mostBytes, configured);
    }

    /** Of all copies, in bytes per second. */
    public synchronized double rate() {
        return bytes.perSecond;
    }

    private void adapt(Allowance allowance, boolean slow, long now) {
        double wanted = allowance.perSecond * (slow ? SLOWER : FASTER);
        double least = Math.min(config.minRate().bytes(), maxRate());
        allowance.perSecond = Math.clamp(wanted, least, maxRate());
        allowance.adaptedNanos = now;
    }
}
