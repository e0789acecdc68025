package io.cairn.fuse.mount;

import io.cairn.common.file.InUseException;
import io.cairn.fuse.libc.Libc;
import io.cairn.fuse.libc.LinuxError;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes sure that a directory can be mounted on. Any thread; may block on a mount that hangs. */
final class MountPoint {
    private static final Logger LOG = LoggerFactory.getLogger(MountPoint.class);

    private MountPoint() {}

    /**
     * The absolute path without symbolic links, once it is a directory that may be mounted on. The
     * remains of a Cairn mount whose process was killed are removed.
     */
    static Path prepare(Path given, Mounter mounter, MountOptions options) throws MountException {
        Path path = resolve(given);
        MountTable.@Nullable Entry mounted = MountTable.at(path);
        if (mounted != null && mounted.type().startsWith("fuse")) {
            if (!isDead(path)) {
                if (mounted.isCairn()) {
                    throw inUse(
                            "already mounted: "
                                    + mounted.source()
                                    + " on "
                                    + path
                                    + " (unmount it with: cairn umount "
                                    + path
                                    + ")");
                }
            } else if (mounted.isCairn()) {
                LOG.warn("{} holds a dead Cairn mount; unmounting it", path);
                mounter.unmount(path, true);
            } else {
                throw new MountException(
                        path
                                + " holds a dead mount of type "
                                + mounted.type()
                                + ", which is not ours to remove (umount -l "
                                + path
                                + ")");
            }
        }
        requireDirectory(path, options);
        return path;
    }

    /**
     * Links resolved in the parent and, where the path itself can be looked at, in the path. A dead
     * mount cannot.
     */
    static Path resolve(Path given) throws MountException {
        Path absolute = given.toAbsolutePath().normalize();
        try {
            return absolute.toRealPath();
        } catch (IOException unreachable) {
            @Nullable Path parent = absolute.getParent();
            @Nullable Path name = absolute.getFileName();
            try {
                return parent == null || name == null
                        ? absolute
                        : parent.toRealPath().resolve(name);
            } catch (IOException e) {
                throw new MountException("mount point " + given + " does not exist", e);
            }
        }
    }

    /** Opening a directory always asks its file system; attributes could come from a cache. */
    static boolean isDead(Path path) {
        int fd = Libc.open(path.toString(), Libc.O_RDONLY | Libc.O_DIRECTORY | Libc.O_CLOEXEC);
        if (fd >= 0) {
            Libc.close(fd);
        }
        return fd == -LinuxError.ENOTCONN;
    }

    private static MountException inUse(String why) {
        return new MountException(why, new InUseException(why));
    }

    private static void requireDirectory(Path path, MountOptions options) throws MountException {
        if (!Files.exists(path)) {
            throw new MountException(
                    "mount point " + path + " does not exist (mkdir -p " + path + ")");
        }
        if (!Files.isDirectory(path)) {
            throw new MountException("mount point " + path + " is not a directory");
        }
        if (options.nonEmpty()) {
            return;
        }
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
            if (entries.iterator().hasNext()) {
                throw inUse(
                        "mount point "
                                + path
                                + " is not empty; use an empty directory, or option nonempty to"
                                + " hide what is there");
            }
        } catch (MountException e) {
            throw e;
        } catch (IOException e) {
            throw new MountException("mount point " + path + " cannot be read: " + e, e);
        }
    }
}
