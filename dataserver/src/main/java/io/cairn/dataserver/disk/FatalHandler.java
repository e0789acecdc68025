package io.cairn.dataserver.disk;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Told when a device failed a write or a sync: what the kernel has in its cache is then unknown, so
 * nothing may be acknowledged or read any more. Any thread; the caller does nothing after it.
 */
@FunctionalInterface
public interface FatalHandler {
    /** Exit status of a process that stopped because of its disk. */
    int EXIT_STATUS = 74;

    void fatal(String what, Throwable cause);

    /** Stops the process at once, running no shutdown hooks. */
    static FatalHandler halt() {
        Logger log = LoggerFactory.getLogger(FatalHandler.class);
        return (what, cause) -> {
            log.error("{}; stopping: nothing more can be acknowledged safely", what, cause);
            Runtime.getRuntime().halt(EXIT_STATUS);
        };
    }
}
