package io.cairn.fuse.mount;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The kernel's read-ahead of a mount. INIT can only lower it below 128 KiB; more is set in sysfs,
 * by root. Without it buffered reads come in pieces of 256 KiB at most.
 */
final class KernelReadAhead {
    private static final Logger LOG = LoggerFactory.getLogger(KernelReadAhead.class);

    private KernelReadAhead() {}

    /** Best effort: a smaller read-ahead is slower, not wrong. */
    static void raise(Path mountPoint, int bytes) throws MountException {
        MountTable.@Nullable Entry entry = MountTable.at(mountPoint);
        if (entry == null) {
            return;
        }
        Path file = Path.of("/sys/class/bdi", entry.device(), "read_ahead_kb");
        try {
            Files.writeString(file, Integer.toString(bytes / 1024));
        } catch (IOException e) {
            LOG.debug("read-ahead of {} stays as it is", mountPoint, e);
        }
    }
}
