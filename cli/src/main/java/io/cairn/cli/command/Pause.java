package io.cairn.cli.command;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Between two looks at something that does not tell when it changes. Ctrl-C ends the process
 * meanwhile, an interrupt the command.
 */
public final class Pause {
    private static final CountDownLatch NEVER = new CountDownLatch(1);

    private Pause() {}

    public static void of(Duration length) throws InterruptedException {
        var _ = NEVER.await(length.toNanos(), TimeUnit.NANOSECONDS);
    }
}
