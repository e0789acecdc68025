package io.cairn.cli.part;

import io.cairn.cli.command.ExitCode;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends the process at once when a part cannot go on without risking data. Any thread. */
final class FatalExit {
    private static final Logger LOG = LoggerFactory.getLogger(FatalExit.class);

    private FatalExit() {}

    /** Says why and does not return. Nothing is flushed: what was acknowledged is durable. */
    static void now(String why, Throwable cause) {
        try {
            LOG.error("stopping at once: {}", why, cause);
            System.err.println("cairn: stopping at once: " + why);
        } finally {
            Runtime.getRuntime().halt(ExitCode.FAILURE.number());
        }
    }
}
