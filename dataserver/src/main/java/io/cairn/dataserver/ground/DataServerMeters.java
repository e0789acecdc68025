package io.cairn.dataserver.ground;

import io.cairn.common.metrics.Counter;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.metrics.Timers;
import java.util.EnumSet;

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
    private final Counter corruptReads;
    private final Counter corruptBlocks;
    private final Counter corruptRequests;
    private final Counter blocksRepaired;
    private final Counter blockRepairsFailed;

    public DataServerMeters(Meters meters) {
        operations = meters.timers(DataServerMeter.OPERATION, EnumSet.allOf(Op.class));
        prepare = meters.timer(DataServerMeter.PREPARE);
        corruptReads = meters.counter(DataServerMeter.CORRUPT_READ);
        corruptBlocks = meters.counter(DataServerMeter.CORRUPT_BLOCK);
        corruptRequests = meters.counter(DataServerMeter.CORRUPT_REQUEST);
        blocksRepaired = meters.counter(DataServerMeter.BLOCK_REPAIRED);
        blockRepairsFailed = meters.counter(DataServerMeter.BLOCK_REPAIR_FAILED);
    }

    public OperationTimer operation(Op op) {
        return operations.of(op);
    }

    public OperationTimer prepare() {
        return prepare;
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
}
