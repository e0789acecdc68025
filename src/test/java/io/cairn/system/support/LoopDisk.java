package io.cairn.system.support;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A file system in a file, loop-mounted, that can lose its power. xfs_io's {@code shutdown} works
 * for xfs and ext4: everything not synced is gone, and every later write fails with EIO.
 */
public final class LoopDisk implements AutoCloseable {
    private final Path image;
    private final Path mountPoint;
    private final String device;

    private LoopDisk(Path image, Path mountPoint, String device) {
        this.image = image;
        this.mountPoint = mountPoint;
        this.device = device;
    }

    public static LoopDisk make(Path mountPoint, String type, String size) throws IOException {
        Files.createDirectories(mountPoint);
        Path image = Path.of(mountPoint + ".img");
        Shell.run("truncate", "-s", size, image.toString()).ok();
        String device = "";
        boolean mounted = false;
        try {
            String force = type.equals("xfs") ? "-f" : "-F";
            Shell.run("mkfs." + type, "-q", force, image.toString()).ok();
            device = Shell.run("losetup", "-f", "--show", image.toString()).ok().out().strip();
            Shell.run("mount", device, mountPoint.toString()).ok();
            mounted = true;
        } finally {
            if (!mounted) {
                release(device, image);
            }
        }
        return new LoopDisk(image, mountPoint, device);
    }

    private static void release(String device, Path image) throws IOException {
        if (!device.isEmpty()) {
            Shell.run("losetup", "-d", device);
        }
        Files.deleteIfExists(image);
    }

    public Path mountPoint() {
        return mountPoint;
    }

    /** From now on nothing reaches the disk, and what was not synced never did. */
    public void cutPower() {
        cutPower(List.of(this));
    }

    /**
     * Likewise of several in the same moment: by one program, as each that is started closes the
     * files that are open here, which waits for servers that may have lost their disk already.
     */
    public static void cutPower(Collection<LoopDisk> disks) {
        Shell.bash(
                        disks.stream()
                                .map(d -> "xfs_io -x -c shutdown '%s'".formatted(d.mountPoint))
                                .collect(Collectors.joining("\n", "set -e\n", "")))
                .ok();
    }

    /** Power is back: the file system recovers from its journal. */
    public void remount() {
        unmount();
        mount();
    }

    /** Until {@link #mount} there is what the directory had before. Nobody may have a file open. */
    public void unmount() {
        Shell.run("umount", mountPoint.toString()).ok();
    }

    /** Mounted again, as by {@link #remount}. */
    public void mount() {
        Shell.run("mount", device, mountPoint.toString()).ok();
    }

    @Override
    public void close() throws IOException {
        Shell.run("umount", "-l", mountPoint.toString());
        release(device, image);
    }
}
