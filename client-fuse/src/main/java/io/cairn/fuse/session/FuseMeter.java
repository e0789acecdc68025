package io.cairn.fuse.session;

import io.cairn.common.metrics.MeterSpec;
import java.util.List;

/** Every meter of a mount. */
public enum FuseMeter implements MeterSpec {
    OPERATION(
            "cairn.mount.operation",
            Kind.TIMER,
            "Requests of the kernel, from reading to answering",
            "op"),
    IN_FLIGHT(
            "cairn.mount.inflight",
            Kind.GAUGE,
            "Requests read from the kernel and not answered yet"),
    INTERRUPTS(
            "cairn.mount.interrupts",
            Kind.COUNTER,
            "Signals that reached a process while it waited for a request");

    private final String meterName;
    private final Kind kind;
    private final String description;
    private final List<String> tagNames;

    FuseMeter(String meterName, Kind kind, String description, String... tagNames) {
        this.meterName = meterName;
        this.kind = kind;
        this.description = description;
        this.tagNames = List.of(tagNames);
    }

    @Override
    public String meterName() {
        return meterName;
    }

    @Override
    public Kind kind() {
        return kind;
    }

    @Override
    public String unit() {
        return "";
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public List<String> tagNames() {
        return tagNames;
    }
}
