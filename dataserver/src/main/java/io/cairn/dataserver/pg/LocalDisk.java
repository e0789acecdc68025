package io.cairn.dataserver.pg;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.rocks.Remarks;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.store.DiskStore;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A disk that this process opened: its store, the id that the MDS gave it, and how much it slows
 * writers down. When it has failed it is out, and its placement groups are gone from the loops; the
 * store is closed with the server only. Any thread.
 */
public final class LocalDisk implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LocalDisk.class);

    /** Below this fill ratio of the log no write is delayed. */
    private static final double SLOW_ABOVE = 0.6;

    private static final long MAX_DELAY_NANOS = 250_000_000L;

    private static final Duration CLOSE_OUT = Duration.ofSeconds(2);

    private final DiskStore store;
    private final DeviceClass deviceClass;
    private final FatalHandler failed;
    private final BlockingCalls calls = new BlockingCalls();
    private final FoundDamage damage;
    private volatile int id;
    private volatile long delayNanos;
    private volatile long waitedNanos;
    private volatile boolean out;
    private volatile boolean released;

    /**
     * @param deviceClass what it is to pools that ask for disks of one kind
     * @param failed told when the disk cannot serve any more
     */
    public LocalDisk(DiskStore store, DeviceClass deviceClass, FatalHandler failed) {
        this.store = store;
        this.deviceClass = deviceClass;
        this.failed = failed;
        this.damage = new FoundDamage(store, this::later);
    }

    /** Identity of the disk, 16 bytes. */
    public ByteString uuid() {
        return Uuids.bytes(store.uuid());
    }

    public DiskStore store() {
        return store;
    }

    public DeviceClass deviceClass() {
        return deviceClass;
    }

    /** For the store's calls that block. */
    public BlockingCalls calls() {
        return calls;
    }

    /** Runs what waits for the disk. */
    private void later(Runnable task) {
        calls.call(
                Executors.callable(task),
                _ -> {},
                failure -> LOG.warn("Disk {} does not take what it is to remember", id, failure));
    }

    /** What was found damaged on it. */
    public FoundDamage damage() {
        return damage;
    }

    /** Closes the store; one that is out may hang, and is left so after a while. */
    @Override
    public void close() {
        Thread closing =
                Thread.ofPlatform().daemon().name("cairn-disk-close").start(this::closeNow);
        try {
            if (!out) {
                closing.join();
            } else if (!closing.join(CLOSE_OUT)) {
                LOG.warn("Disk {}, which is out of service, does not let itself be closed", id);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeNow() {
        calls.close();
        store.close();
    }

    /**
     * A call to it does not come back: it is out from now on, whatever comes of the call. Never
     * waits for the disk.
     *
     * @param why for the administrator
     */
    public void hangs(String why) {
        store.giveUp(why);
        failed.fatal("it hangs", new IOException(why));
    }

    /** Given by the MDS at registration; 0 before. */
    public int id() {
        return id;
    }

    /** From now on nothing is read from it or acknowledged. */
    public void markOut() {
        out = true;
    }

    /** Whether it failed. */
    public boolean isOut() {
        return out;
    }

    /** All loops have ended the replicas on it: nothing on it is served any more. */
    void release() {
        released = true;
    }

    /** Whether it failed, and nothing on it is served or acknowledged any more. */
    boolean isReleased() {
        return released;
    }

    /** What a request is answered with whose replica is on a disk of this server that is out. */
    public static RpcStatus outStatus(int disk) {
        return RpcStatus.fail(
                Errno.EAGAIN,
                Advice.RETRY,
                "disk %d is out of service, see the status of the cluster".formatted(disk));
    }

    /** The store cannot be used: takes the disk out. Returns what to throw. */
    DiskOutException unusable(Exception cause) {
        failed.fatal("reading the index of disk " + store.uuid() + " failed", cause);
        return new DiskOutException("disk " + id + " is out of service", cause);
    }

    /** The oldest call to it that has not come back has waited for so long; 0 if there is none. */
    public void waited(long nanos) {
        waitedNanos = nanos;
    }

    /** Its space and what to warn of. */
    DiskStatus.Builder status() {
        DiskStore.DiskUsage usage = store.usage();
        DiskStatus.Builder status =
                DiskStatus.newBuilder()
                        .setDisk(id)
                        .setCapacityBytes(usage.capacityBytes())
                        .setUsedBytes(usage.usedBytes())
                        .setFreeBytes(usage.freeBytes())
                        .setWalUsedBytes(usage.walUsedBytes())
                        .setWalCapacityBytes(usage.walCapacityBytes())
                        .setOldestCallMillis(TimeUnit.NANOSECONDS.toMillis(waitedNanos));
        int waiting = store.waitingForRepair();
        status.setWaitingForRepair(waiting);
        if (waiting > 0) {
            status.addWarnings(
                    waiting
                            + " damaged blocks wait for repair from another replica; until then what"
                            + " was written to them stays in the write-ahead log");
        }
        status.addAllWarnings(damage.warnings()).addAllWarnings(store.warnings());
        for (RocksDatabase index : store.databases()) {
            Remarks remarks = index.remarks();
            status.addAllWarnings(remarks.warnings()).addAllNotes(remarks.notes());
        }
        return status;
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
