package io.cairn.fuse.mount;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Runs programs of the system to their end. */
final class Programs {
    private Programs() {}

    /**
     * How a program ended.
     *
     * @param said what it wrote to its standard output and error, without white space around it
     */
    record Ended(int status, String said) {
        boolean well() {
            return status == 0;
        }
    }

    /**
     * Waits without a limit; a program that is waited for when this thread is interrupted goes on.
     *
     * @throws IOException when it could not be started: it is not installed
     */
    static Ended run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said =
                new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        return new Ended(process.waitFor(), said);
    }
}
