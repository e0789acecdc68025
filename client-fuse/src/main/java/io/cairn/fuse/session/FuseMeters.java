package io.cairn.fuse.session;

import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.common.metrics.Counter;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/** The meters of one mount; an operation has its own from its first request on. Any thread. */
public final class FuseMeters {
    private final Meters meters;
    private final ConcurrentHashMap<FuseOpcode, OperationTimer> operations =
            new ConcurrentHashMap<>();
    private final Counter interrupts;
    private final Counter givenUp;

    public FuseMeters(Meters meters) {
        this.meters = meters;
        this.interrupts = meters.counter(FuseMeter.INTERRUPTS);
        this.givenUp = meters.counter(FuseMeter.GIVEN_UP);
    }

    void inFlight(IntSupplier now) {
        meters.gauge(FuseMeter.IN_FLIGHT, now::getAsInt);
    }

    public void handles(IntSupplier now) {
        meters.gauge(FuseMeter.HANDLES, now::getAsInt);
    }

    /** ENOENT and ENODATA are answers, not failures: looking for a name that is free is normal. */
    void answered(FuseOpcode opcode, long nanos, int error) {
        @Nullable OperationTimer timer = operations.get(opcode);
        if (timer == null) {
            timer =
                    operations.computeIfAbsent(
                            opcode, op -> meters.timer(FuseMeter.OPERATION, op.label()));
        }
        if (error == 0 || error == Errno.ENOENT.number() || error == Errno.ENODATA.number()) {
            timer.record(nanos);
        } else {
            timer.recordError(nanos);
        }
    }

    void givenUp() {
        givenUp.increment();
    }

    void interrupted() {
        interrupts.increment();
    }
}
