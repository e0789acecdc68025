package io.cairn.system.support;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;

/**
 * Errors of a device below running servers: a library that is preloaded into them answers their
 * calls on chosen files with EIO, late, or not at all, see {@code disk_errors.c}. One thread.
 */
public final class DiskErrors {
    private final Path library;
    private final Path control;
    private final StringBuilder faults = new StringBuilder();

    /** What a server asks of the system, by FileChannel or by RocksDB. */
    public enum Call {
        READ,
        WRITE,
        SYNC
    }

    private DiskErrors(Path directory) {
        library = directory.resolve("disk_errors.so");
        control = directory.resolve("disk_errors");
    }

    /**
     * Compiles the library; nothing fails yet.
     *
     * @param directory for it and for what tells it which calls fail
     */
    public static DiskErrors in(Path directory) {
        DiskErrors errors = new DiskErrors(directory);
        Shell.run(
                        "gcc",
                        "-O2",
                        "-shared",
                        "-fPIC",
                        "-DCONTROL=\"" + errors.control + "\"",
                        "-o",
                        errors.library.toString(),
                        Cluster.REPOSITORY.resolve("src/test/resources/disk_errors.c").toString())
                .ok();
        return errors;
    }

    /** What servers preload. */
    public Path library() {
        return library;
    }

    /** From now on such calls fail on all files whose path begins so. */
    public void fail(Call call, Path below) {
        fail(call, below, 0, Long.MAX_VALUE / 2);
    }

    /** From now on such calls fail that touch these bytes of the file. */
    public void fail(Call call, Path file, long from, long lengthBytes) {
        add(name(call), file, from, lengthBytes);
    }

    /** From now on such calls on all files whose path begins so wait, until there are no faults. */
    private void hang(Call call, Path below) {
        add("hang-" + name(call), below, 0, Long.MAX_VALUE / 2);
    }

    /** From now on all calls on such files wait, until there are no faults. */
    public void hang(Path below) {
        for (Call call : Call.values()) {
            hang(call, below);
        }
    }

    /** From now on such calls on all files whose path begins so take 200 ms longer. */
    public void slow(Call call, Path below) {
        add("slow-" + name(call), below, 0, Long.MAX_VALUE / 2);
    }

    private static String name(Call call) {
        return call.name().toLowerCase(Locale.ROOT);
    }

    private void add(String name, Path file, long from, long lengthBytes) {
        faults.append("%s %d %d %s%n".formatted(name, from, from + lengthBytes, file));
        try {
            Path whole = control.resolveSibling("disk_errors.new");
            Files.writeString(whole, faults);
            Files.move(whole, control, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** From now on nothing fails. */
    public void none() {
        faults.setLength(0);
        try {
            Files.deleteIfExists(control);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
