package io.cairn.fuse.session;

import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Counter;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.metrics.Timers;
import io.cairn.fuse.kernel.FuseOpcode;
import java.util.EnumSet;
import java.util.function.IntSupplier;

/** The meters of one mount; an operation has its own from its first request on. Any thread. */
public final class FuseMeters {
    private final Meters meters;
    private final Timers<FuseOpcode> operations;
    private final Counter interrupts;
    private final Counter givenUp;

    public FuseMeters(Meters meters) {
        this.meters = meters;
        this.operations = meters.timers(FuseMeter.OPERATION, EnumSet.noneOf(FuseOpcode.class));
        this.interrupts = meters.counter(FuseMeter.INTERRUPTS);
        this.givenUp = meters.counter(FuseMeter.GIVEN_UP);
    }

    public void inFlight(IntSupplier now) {
        meters.gauge(FuseMeter.IN_FLIGHT, now::getAsInt);
    }

    public void handles(IntSupplier now) {
        meters.gauge(FuseMeter.HANDLES, now::getAsInt);
    }

    /** ENOENT and ENODATA are answers, not failures: looking for a name that is free is normal. */
    public void answered(FuseOpcode opcode, long nanos, int error) {
        OperationTimer timer = operations.of(opcode);
        if (error == 0 || error == Errno.ENOENT.number() || error == Errno.ENODATA.number()) {
            timer.record(nanos);
        } else {
            timer.recordError(nanos);
        }
    }

    public void givenUp() {
        givenUp.increment();
    }

    public void interrupted() {
        interrupts.increment();
    }
}
