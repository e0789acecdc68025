package io.cairn.system.support;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;

/**
 * Sends signals to a process by a helper that was started before: starting one closes copies of all
 * files this process has open, which flushes those on a mount, and waits where that is paused. For
 * tests of one thread.
 */
public final class Signals implements AutoCloseable {
    private final long pid;
    private final Process helper;
    private final Writer to;
    private final BufferedReader from;

    Signals(long pid) {
        this.pid = pid;
        String loop = "while read -r signal; do kill -$signal " + pid + " && echo sent; done";
        try {
            helper = new ProcessBuilder("bash", "-c", loop).start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        to = helper.outputWriter(StandardCharsets.US_ASCII);
        from = helper.inputReader(StandardCharsets.US_ASCII);
    }

    /** Returns when all threads stand still. */
    public void stop() {
        send("STOP");
        Stall.awaitStopped(pid);
    }

    /** Returns when it is sent. */
    public void send(String name) {
        try {
            to.write(name + "\n");
            to.flush();
            if (!"sent".equals(from.readLine())) {
                throw new AssertionError(name + " could not be sent");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        helper.destroyForcibly();
    }
}
