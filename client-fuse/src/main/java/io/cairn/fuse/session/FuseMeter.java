package io.cairn.fuse.session;

import io.cairn.common.metrics.MeterSpec;

/** Every meter of a mount. */
public enum FuseMeter implements MeterSpec {
    OPERATION(Kind.TIMER, "", "Requests of the kernel, from reading to answering", "op"),
    IN_FLIGHT(Kind.GAUGE, "", "Requests read from the kernel and not answered yet"),
    HANDLES(Kind.GAUGE, "", "Files and directories the kernel holds open"),
    GIVEN_UP(
            Kind.COUNTER,
            "",
            "Requests answered with EINTR because the process that waited was killed"),
    INTERRUPTS(Kind.COUNTER, "", "Signals that reached a process while it waited for a request");

    private final Definition definition;

    FuseMeter(Kind kind, String unit, String description, String... tagNames) {
        definition = Definition.of(kind, unit, description, tagNames);
    }

    @Override
    public Definition definition() {
        return definition;
    }

    @Override
    public String prefix() {
        return "cairn.mount";
    }
}
