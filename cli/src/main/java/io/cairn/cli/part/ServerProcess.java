package io.cairn.cli.part;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts that run in this process. They are closed in reverse order when the process is told to
 * stop (SIGTERM, SIGINT; exit code 0) or when the command ends. Used by the main thread; the
 * shutdown hook closes.
 */
public final class ServerProcess implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ServerProcess.class);

    private final Deque<Running> parts = new ArrayDeque<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final AtomicReference<@Nullable CommandException> failure = new AtomicReference<>();
    private boolean closing;

    private record Running(String name, AutoCloseable part) {}

    public ServerProcess() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::stopBySignal, "cairn-shutdown"));
    }

    /** From now on the part is closed with the process. */
    public synchronized <P extends AutoCloseable> P add(String name, P part) {
        if (closing) {
            throw new CommandException(ExitCode.FAILURE, "told to stop while starting " + name);
        }
        parts.push(new Running(name, part));
        return part;
    }

    /** What the process is for is done: {@link #awaitStop} returns. Any thread. */
    public void ended() {
        ended.countDown();
    }

    /** A part cannot go on: {@link #awaitStop} throws this. Any thread. */
    public void failed(CommandException cause) {
        LOG.error("{}", cause.getMessage());
        failure.compareAndSet(null, cause);
        ended.countDown();
    }

    /** Waits until the process is told to stop or has ended, or throws what a part failed with. */
    public void awaitStop() {
        try {
            ended.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        CommandException cause = failure.get();
        if (cause != null) {
            throw cause;
        }
    }

    @Override
    public void close() {
        closeParts();
    }

    private void stopBySignal() {
        if (closeParts()) {
            LOG.info("stopped");
            Runtime.getRuntime().halt(ExitCode.SUCCESS.number());
        }
    }

    /** False if somebody else closed them. */
    private synchronized boolean closeParts() {
        if (closing) {
            return false;
        }
        closing = true;
        while (!parts.isEmpty()) {
            Running running = parts.pop();
            try {
                LOG.info("stopping {}", running.name());
                running.part().close();
            } catch (Exception e) {
                LOG.error("stopping {} failed", running.name(), e);
            }
        }
        ended.countDown();
        return true;
    }
}
