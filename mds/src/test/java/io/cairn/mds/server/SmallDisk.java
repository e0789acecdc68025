package io.cairn.mds.server;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A file system of its own with little room (tmpfs; needs root), and a file that fills it. */
final class SmallDisk implements AutoCloseable {
    private static final int STEP = 4096;

    private final Path mountPoint;
    private final Path ballast;

    SmallDisk(Path mountPoint, int sizeMiB) throws IOException {
        this.mountPoint = mountPoint;
        this.ballast = mountPoint.resolve("ballast");
        Files.createDirectories(mountPoint);
        run("mount", "-t", "tmpfs", "-o", "size=" + sizeMiB + "m", "tmpfs", mountPoint.toString());
    }

    /** Lets the ballast grow until only so much is free; 0: until nothing can be written. */
    void leaveFree(long bytes) throws IOException {
        long grow = Files.getFileStore(mountPoint).getUsableSpace() - bytes;
        try (OutputStream out =
                Files.newOutputStream(
                        ballast,
                        java.nio.file.StandardOpenOption.CREATE,
                        java.nio.file.StandardOpenOption.APPEND)) {
            for (long done = 0; done < grow || bytes == 0; done += STEP) {
                out.write(new byte[STEP]);
            }
        } catch (IOException e) {
            if (bytes != 0 || !String.valueOf(e.getMessage()).contains("No space left")) {
                throw e;
            }
        }
    }

    /** Somebody has made room. */
    void makeRoom() throws IOException {
        Files.deleteIfExists(ballast);
    }

    @Override
    public void close() throws IOException {
        run("umount", "-l", mountPoint.toString());
    }

    private static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).inheritIO().start();
        try {
            if (!process.waitFor(30, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new IOException(
                        String.join(" ", command) + " failed; these tests are to be run as root");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
