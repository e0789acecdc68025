package io.cairn.fuse.session;

/** Every meter of a mount. */
public enum FuseMeter {
    REQUESTS(
            "cairn.fuse.requests",
            "Requests of the kernel: count and latency from reading to answering, by operation"),
    ERRORS("cairn.fuse.errors", "Requests answered with an error other than ENOENT, by operation"),
    IN_FLIGHT("cairn.fuse.inflight", "Requests read from the kernel and not answered yet"),
    INTERRUPTS("cairn.fuse.interrupts", "Requests whose process got a signal while it waited");

    private final String meterName;
    private final String description;

    FuseMeter(String meterName, String description) {
        this.meterName = meterName;
        this.description = description;
    }

    public String meterName() {
        return meterName;
    }

    public String description() {
        return description;
    }
}
