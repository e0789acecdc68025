package io.cairn.fuse.mount;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
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

    /**
     * Unmounts.
     *
     * @param needs what to say where the program is not installed
     */
    static void unmount(Path mountPoint, List<String> command, String needs) throws MountException {
        Ended ended;
        try {
            ended = run(command);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MountException("interrupted while unmounting " + mountPoint, e);
        } catch (IOException e) {
            throw new MountException(needs, e);
        }
        if (!ended.well()) {
            throw new MountException("unmounting " + mountPoint + " failed: " + ended.said());
        }
    }
}
