package io.cairn.dataserver.disk;

import io.cairn.common.file.InUseException;
import io.cairn.common.libc.ExclusiveLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the parts of a disk from being opened a second time, by another process or by this one
 * under other names: the data file or device and both directories are locked while the disk is
 * open. One thread takes it, any may close it.
 */
public final class DiskHold implements AutoCloseable {
    /** systemd-udevd locks a device while it looks at it, as when a writer has closed it. */
    private static final int DEVICE_LOOKS = 40;

    private static final Duration DEVICE_PAUSE = Duration.ofMillis(50);

    private final DiskConfig config;
    private final Map<Path, ExclusiveLock> locks = new HashMap<>();

    private DiskHold(DiskConfig config) {
        this.config = config;
    }

    /**
     * Takes the parts that exist.
     *
     * @throws DiskOpenException naming a part that somebody has
     */
    public static DiskHold of(DiskConfig config) throws IOException, DiskOpenException {
        DiskHold hold = new DiskHold(config);
        hold.takeRest();
        return hold;
    }

    /** Takes what exists by now; when it throws, all is let go. */
    public void takeRest() throws IOException, DiskOpenException {
        try {
            for (Path part : List.of(config.data(), config.wal(), config.index())) {
                if (!locks.containsKey(part) && Files.exists(part)) {
                    locks.put(part, lock(part));
                }
            }
        } catch (IOException | DiskOpenException e) {
            close();
            throw e;
        }
    }

    private static ExclusiveLock lock(Path part) throws IOException, DiskOpenException {
        @Nullable ExclusiveLock lock = ExclusiveLock.tryLock(part);
        boolean isDevice = !Files.isRegularFile(part) && !Files.isDirectory(part);
        for (int i = 0; isDevice && lock == null && i < DEVICE_LOOKS; i++) {
            LockSupport.parkNanos(DEVICE_PAUSE.toNanos());
            lock = ExclusiveLock.tryLock(part);
        }
        if (lock == null) {
            String why =
                    part
                            + " is in use: by another disk of the configuration, maybe under another"
                            + " name, or by another process. Each disk is configured once, with a"
                            + " data file and directories of its own";
            throw new DiskOpenException(why, new InUseException(why));
        }
        return lock;
    }

    @Override
    public void close() {
        locks.values().forEach(ExclusiveLock::close);
    }
}
