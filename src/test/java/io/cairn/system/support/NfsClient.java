package io.cairn.system.support;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A process that talks to an NFS server: it executes Python with what {@code nfs.py} defines, and
 * keeps variables from one piece to the next. For tests of one thread.
 */
public final class NfsClient implements AutoCloseable {
    private static final long LIMIT_SECONDS = 600;

    private final Process process;

    /**
     * @param command that runs nfs.py
     */
    NfsClient(List<String> command) {
        try {
            process =
                    new ProcessBuilder(command)
                            .redirectError(ProcessBuilder.Redirect.INHERIT)
                            .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Executes it; fails the test where it raises anything. */
    public void run(String script) {
        try {
            begin(script).get(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        } catch (ExecutionException e) {
            throw new AssertionError(e.getCause() == null ? e : e.getCause());
        } catch (TimeoutException e) {
            close();
            throw new AssertionError("not done after " + LIMIT_SECONDS + " s:\n" + script, e);
        }
    }

    /** Begins to execute it; nothing else may be begun before it is done. */
    public CompletableFuture<Void> begin(String script) {
        byte[] code = script.getBytes(StandardCharsets.UTF_8);
        try {
            OutputStream to = process.getOutputStream();
            to.write((code.length + "\n").getBytes(StandardCharsets.US_ASCII));
            to.write(code);
            to.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return CompletableFuture.runAsync(() -> await(script));
    }

    private void await(String script) {
        try {
            DataInputStream from = new DataInputStream(process.getInputStream());
            StringBuilder length = new StringBuilder();
            for (int c = from.readByte(); c != '\n'; c = from.readByte()) {
                length.append((char) c);
            }
            String failure =
                    new String(
                            from.readNBytes(Integer.parseInt(length.toString())),
                            StandardCharsets.UTF_8);
            if (!failure.isEmpty()) {
                throw new AssertionError(failure + "\n" + script);
            }
        } catch (IOException e) {
            throw new AssertionError("the client has ended", e);
        }
    }

    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }
}
