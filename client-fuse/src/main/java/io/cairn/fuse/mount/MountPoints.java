package io.cairn.fuse.mount;

import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Looks at mount points without mounting, for commands. Any thread. */
public final class MountPoints {
    private MountPoints() {}

    /** Whether a Cairn file system that answers is mounted there. */
    public static boolean isMounted(Path mountPoint) throws MountException {
        Path path = MountPoint.resolve(mountPoint);
        MountTable.@Nullable Entry entry = MountTable.at(path);
        return entry != null && entry.isCairn() && !MountPoint.isDead(path);
    }

    /**
     * Removes what a killed mount process left behind.
     *
     * @return false if there was nothing to remove
     */
    public static boolean removeDead(Path mountPoint) throws MountException {
        Path path = MountPoint.resolve(mountPoint);
        MountTable.@Nullable Entry entry = MountTable.at(path);
        if (entry == null || !entry.isCairn() || !MountPoint.isDead(path)) {
            return false;
        }
        Mounter.forThisUser().unmount(path, true);
        return true;
    }

    /** Why nothing can be mounted there: in use, not a directory, not empty; empty if it can. */
    public static Optional<String> problem(Path mountPoint, MountOptions options) {
        try {
            MountPoint.prepare(mountPoint, Mounter.forThisUser(), options);
            return Optional.empty();
        } catch (MountException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }
}
