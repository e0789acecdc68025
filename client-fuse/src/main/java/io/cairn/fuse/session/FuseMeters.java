package io.cairn.fuse.session;

import io.cairn.common.errno.Errno;
import io.cairn.fuse.kernel.FuseOpcode;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;

/** The meters of one mount, one per operation where they are by operation. Any thread. */
public final class FuseMeters {
    private final MeterRegistry registry;
    private final Timer[] timers;
    private final Counter[] errors;
    private final Counter interrupts;

    public FuseMeters(MeterRegistry registry) {
        this.registry = registry;
        FuseOpcode[] opcodes = FuseOpcode.values();
        timers = new Timer[opcodes.length];
        errors = new Counter[opcodes.length];
        for (FuseOpcode opcode : opcodes) {
            timers[opcode.ordinal()] =
                    Timer.builder(FuseMeter.REQUESTS.meterName())
                            .description(FuseMeter.REQUESTS.description())
                            .tag("op", opcode.label())
                            .publishPercentiles(0.5, 0.99)
                            .register(registry);
            errors[opcode.ordinal()] =
                    Counter.builder(FuseMeter.ERRORS.meterName())
                            .description(FuseMeter.ERRORS.description())
                            .tag("op", opcode.label())
                            .register(registry);
        }
        interrupts =
                Counter.builder(FuseMeter.INTERRUPTS.meterName())
                        .description(FuseMeter.INTERRUPTS.description())
                        .register(registry);
    }

    void inFlight(IntSupplier now) {
        Gauge.builder(FuseMeter.IN_FLIGHT.meterName(), now, IntSupplier::getAsInt)
                .description(FuseMeter.IN_FLIGHT.description())
                .strongReference(true)
                .register(registry);
    }

    void answered(FuseOpcode opcode, long nanos, int error) {
        timers[opcode.ordinal()].record(nanos, TimeUnit.NANOSECONDS);
        if (error != 0 && error != Errno.ENOENT.number()) {
            errors[opcode.ordinal()].increment();
        }
    }

    void interrupted() {
        interrupts.increment();
    }
}
