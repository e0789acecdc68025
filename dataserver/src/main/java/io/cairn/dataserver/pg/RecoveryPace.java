package io.cairn.dataserver.pg;

import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.time.NanoClock;
import io.cairn.dataserver.ground.RecoveryConfig;
import java.util.List;

/**
 * How fast this server, as primary, copies content to replicas that lack it. Clients come first:
 * while their operations take longer on average than they should, the rate is halved every {@link
 * #WINDOW_NANOS}; else it grows again, by a quarter. So recovery takes what clients leave (as a
 * LEDBAT sender does by delay, RFC 6817), and all there is where there are no clients; at most what
 * an administrator allows, in bytes and in pieces of chunks.
 *
 * <p>Bytes are counted when they are sent: who may begin a chunk sends all of it, since operations
 * wait for the end, and what was too much is waited for before the next one. Any thread.
 */
public final class RecoveryPace {
    static final long WINDOW_NANOS = 200_000_000L;

    /** What may be sent at once after a pause, as time at the present rate. */
    private static final double BURST_SECONDS = 0.1;

    private static final double SLOWER = 0.5;
    private static final double FASTER = 1.25;
    private static final double NANOS_PER_SECOND = 1e9;

    private final RecoveryConfig config;
    private final List<OperationTimer> clients;
    private final NanoClock clock;
    private double bytesPerSecond;
    private double allowance;

    /** As the metadata service says; 0: no limit. */
    private long mostBytes;

    private long mostOperations;
    private double pieces;
    private long countedNanos;
    private long windowNanos;
    private long operations;
    private long operationNanos;

    /**
     * @param clients operations that clients wait for
     */
    public RecoveryPace(RecoveryConfig config, List<OperationTimer> clients, NanoClock clock) {
        this.config = config;
        this.clients = List.copyOf(clients);
        this.clock = clock;
        bytesPerSecond = config.maxRate().bytes();
        countedNanos = clock.nanos();
        windowNanos = countedNanos;
    }

    /** Whether one more chunk may be copied now; asked again soon if not. */
    synchronized boolean allows() {
        long now = clock.nanos();
        if (now - windowNanos >= WINDOW_NANOS) {
            adapt(now);
        }
        double elapsed = now - countedNanos;
        double more = bytesPerSecond * elapsed / NANOS_PER_SECOND;
        countedNanos = now;
        allowance = Math.min(allowance + more, bytesPerSecond * BURST_SECONDS);
        double morePieces = mostOperations * elapsed / NANOS_PER_SECOND;
        pieces = Math.min(pieces + morePieces, mostOperations * BURST_SECONDS);
        return allowance >= 0 && (mostOperations == 0 || pieces >= 0);
    }

    /** A piece of a chunk. */
    synchronized void sent(int bytes) {
        allowance -= bytes;
        pieces--;
    }

    /**
     * Counts from now on, beside what is configured.
     *
     * @param bytesPerSecond of content; 0: no limit but the configured one
     * @param operationsPerSecond pieces of chunks; 0: no limit
     */
    public synchronized void limit(long bytesPerSecond, long operationsPerSecond) {
        if (operationsPerSecond != mostOperations) {
            pieces = 0;
        }
        mostBytes = bytesPerSecond;
        mostOperations = operationsPerSecond;
        this.bytesPerSecond = Math.min(this.bytesPerSecond, maxRate());
    }

    private double maxRate() {
        long configured = config.maxRate().bytes();
        return mostBytes == 0 ? configured : Math.min(mostBytes, configured);
    }

    /** In bytes per second. */
    public synchronized double rate() {
        return bytesPerSecond;
    }

    private void adapt(long now) {
        long number = clients.stream().mapToLong(OperationTimer::count).sum();
        long nanos = clients.stream().mapToLong(OperationTimer::totalNanos).sum();
        long finished = number - operations;
        boolean slow =
                finished > 0
                        && (nanos - operationNanos) / finished > config.clientLatency().toNanos();
        boolean recent = now - windowNanos < 2 * WINDOW_NANOS; // else nothing was copied meanwhile
        operations = number;
        operationNanos = nanos;
        windowNanos = now;
        double wanted = bytesPerSecond * (slow && recent ? SLOWER : FASTER);
        bytesPerSecond =
                Math.clamp(wanted, Math.min(config.minRate().bytes(), maxRate()), maxRate());
    }
}
