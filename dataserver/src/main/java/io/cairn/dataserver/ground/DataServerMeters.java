package io.cairn.dataserver.ground;

import io.cairn.common.metrics.Counter;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.metrics.Timers;
import java.util.EnumSet;
import java.util.List;

/** What the requests and repairs of one data server record to, made once. Any thread. */
public final class DataServerMeters {
    /** What clients and the MDS ask for. */
    public enum Op {
        READ,
        WRITE,
        DELETE,
        TRUNCATE
    }

    private final Timers<Op> operations;
    private final OperationTimer prepare;
    private final OperationTimer backup;

    /** The part of {@link #backup} that clients wait for; no meter of its own. */
    private final OperationTimer waitedBackup;

    private final Counter readBytes;
    private final Counter writtenAsPrimary;
    private final Counter writtenAsBackup;
    private final Counter copiedBytes;
    private final Counter resentBytes;
    private final Counter corruptReads;
    private final Counter corruptBlocks;
    private final Counter corruptRequests;
    private final Counter blocksRepaired;
    private final Counter blockRepairsFailed;
    private final Counter lightScrubs;
    private final Counter deepScrubs;
    private final Counter scrubbedBytes;
    private final Counter scrubDifferences;

    public DataServerMeters(Meters meters) {
        operations = meters.timers(DataServerMeter.OPERATION, EnumSet.allOf(Op.class));
        prepare = meters.timer(DataServerMeter.PREPARE);
        backup = meters.timer(DataServerMeter.BACKUP);
        waitedBackup = Meters.unpublished().timer(DataServerMeter.BACKUP);
        readBytes = meters.counter(DataServerMeter.READ_BYTES);
        writtenAsPrimary = meters.counter(DataServerMeter.WRITTEN_BYTES, "primary");
        writtenAsBackup = meters.counter(DataServerMeter.WRITTEN_BYTES, "backup");
        copiedBytes = meters.counter(DataServerMeter.COPIED_BYTES);
        resentBytes = meters.counter(DataServerMeter.RESENT_BYTES);
        corruptReads = meters.counter(DataServerMeter.CORRUPT_READ);
        corruptBlocks = meters.counter(DataServerMeter.CORRUPT_BLOCK);
        corruptRequests = meters.counter(DataServerMeter.CORRUPT_REQUEST);
        blocksRepaired = meters.counter(DataServerMeter.BLOCK_REPAIRED);
        blockRepairsFailed = meters.counter(DataServerMeter.BLOCK_REPAIR_FAILED);
        lightScrubs = meters.counter(DataServerMeter.SCRUBBED_GROUPS, "light");
        deepScrubs = meters.counter(DataServerMeter.SCRUBBED_GROUPS, "deep");
        scrubbedBytes = meters.counter(DataServerMeter.SCRUBBED_BYTES);
        scrubDifferences = meters.counter(DataServerMeter.SCRUB_DIFFERENCE);
    }

    public OperationTimer operation(Op op) {
        return operations.of(op);
    }

    public OperationTimer prepare() {
        return prepare;
    }

    /** What clients wait for on this server, as the primary of their placement groups or not. */
    public List<OperationTimer> waitedFor() {
        return List.of(operation(Op.READ), operation(Op.WRITE), waitedBackup);
    }

    /** Bytes of chunks copied to replicas that were away. */
    public Counter copied() {
        return copiedBytes;
    }

    /** Bytes of operations that replicas had missed while they were away, sent from the log. */
    public Counter resent() {
        return resentBytes;
    }

    /** A client has read so many bytes. */
    public void read(int bytes) {
        readBytes.increment(bytes);
    }

    /** A client's write of so many bytes is on enough replicas, of which this is the primary. */
    public void written(int bytes) {
        writtenAsPrimary.increment(bytes);
    }

    /** A write of so many bytes, of another primary, is in the log here. */
    public void writtenAsBackup(int bytes) {
        writtenAsBackup.increment(bytes);
    }

    /**
     * An operation of another primary was answered.
     *
     * @param durable whether it is on the disk here
     * @param waitedFor whether a client waits for it
     */
    public void backedUp(long startNanos, boolean durable, boolean waitedFor) {
        backup.recordSince(startNanos, durable);
        if (waitedFor) {
            waitedBackup.recordSince(startNanos, durable);
        }
    }

    public void corruptRead() {
        corruptReads.increment();
    }

    public void corruptBlock() {
        corruptBlocks.increment();
    }

    public void corruptRequest() {
        corruptRequests.increment();
    }

    public void blockRepaired() {
        blocksRepaired.increment();
    }

    public void blockRepairFailed() {
        blockRepairsFailed.increment();
    }

    /** A placement group was scrubbed to the end: so many bytes were read here for it. */
    public void scrubbed(boolean deep, long bytes, int differences) {
        (deep ? deepScrubs : lightScrubs).increment();
        scrubbedBytes.increment(bytes);
        scrubDifferences.increment(differences);
    }
}
