package io.cairn.dataserver.pg;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.DiskStatus;
import io.cairn.dataserver.disk.IdentityDirectory;
import io.cairn.dataserver.store.DiskStore;

/**
 * A disk that this process serves: its store, the id that the MDS gave it, and how much it slows
 * writers down. Any thread.
 */
public final class LocalDisk implements AutoCloseable {
    /** Below this fill ratio of the log no write is delayed. */
    private static final double SLOW_ABOVE = 0.6;

    private static final long MAX_DELAY_NANOS = 250_000_000L;

    private final DiskStore store;
    private final BlockingCalls calls = new BlockingCalls();
    private volatile int id;
    private volatile long delayNanos;

    public LocalDisk(DiskStore store) {
        this.store = store;
    }

    /** Identity of the disk, 16 bytes. */
    public ByteString uuid() {
        return IdentityDirectory.bytes(store.uuid());
    }

    public DiskStore store() {
        return store;
    }

    /** For the store's calls that block. */
    public BlockingCalls calls() {
        return calls;
    }

    /** Closes the store. */
    @Override
    public void close() {
        calls.close();
        store.close();
    }

    /** Given by the MDS at registration; 0 before. */
    public int id() {
        return id;
    }

    /** What the metadata service is told with each heartbeat. */
    public DiskStatus status() {
        DiskStore.DiskUsage usage = store.usage();
        DiskStatus.Builder status =
                DiskStatus.newBuilder()
                        .setDisk(id)
                        .setCapacityBytes(usage.capacityBytes())
                        .setUsedBytes(usage.usedBytes())
                        .setFreeBytes(usage.freeBytes())
                        .setWalUsedBytes(usage.walUsedBytes())
                        .setWalCapacityBytes(usage.walCapacityBytes());
        int waiting = store.waitingForRepair();
        if (waiting > 0) {
            status.addWarnings(
                    waiting
                            + " damaged blocks wait for repair from another replica; until then what"
                            + " was written to them stays in the write-ahead log");
        }
        return status.build();
    }

    /** The MDS gave the disk this id. */
    public void registered(int diskId) {
        id = diskId;
    }

    /**
     * How long an operation is durable before it is acknowledged. Grows with the square of the
     * log's fill above 60 %, so that writers slow down to the flusher's pace instead of stopping
     * when the log is full. Every replica delays by the fill of its own log; the slowest one sets
     * the pace.
     */
    public long delayNanos() {
        return delayNanos;
    }

    /** Computes the delay anew; to be called now and then. */
    public void measure() {
        delayNanos = delayNanos(store.walFillRatio());
    }

    static long delayNanos(double walFillRatio) {
        double excess = Math.clamp((walFillRatio - SLOW_ABOVE) / (1 - SLOW_ABOVE), 0, 1);
        return (long) (excess * excess * MAX_DELAY_NANOS);
    }
}
