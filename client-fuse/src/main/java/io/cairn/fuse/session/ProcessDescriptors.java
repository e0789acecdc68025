package io.cairn.fuse.session;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** What /proc says about the descriptors of other processes. Any thread. */
public final class ProcessDescriptors {
    private static final String INODE = "ino:";

    private ProcessDescriptors() {}

    /**
     * How many descriptors of a file the process has; 0 where it has ended, -1 where that cannot be
     * known. It asks the kernel about files that are the process's, so it may wait for the file
     * system that the file is in.
     *
     * @param device of the file system, as of stat(2)
     */
    public static int of(int process, long device, long inode) {
        Path proc = Path.of("/proc", Integer.toString(process));
        int count = 0;
        try (DirectoryStream<Path> open = Files.newDirectoryStream(proc.resolve("fd"))) {
            for (Path descriptor : open) {
                count += isOf(proc, descriptor, device, inode) ? 1 : 0;
            }
        } catch (IOException | RuntimeException goneOrUnreadable) {
            return Files.exists(proc) ? -1 : 0;
        }
        return count;
    }

    /** Linux 5.14 and later tell the inode without asking the file system. */
    private static boolean isOf(Path proc, Path descriptor, long device, long inode) {
        try {
            Path info = proc.resolve("fdinfo").resolve(descriptor.getFileName());
            for (String line : Files.readAllLines(info)) {
                if (line.startsWith(INODE)
                        && Long.parseUnsignedLong(line.substring(INODE.length()).strip())
                                != inode) {
                    return false;
                }
            }
            return (Long) Files.getAttribute(descriptor, "unix:dev") == device
                    && (Long) Files.getAttribute(descriptor, "unix:ino") == inode;
        } catch (IOException | RuntimeException closedMeanwhile) {
            return false;
        }
    }

    /**
     * A device's number as stat(2) tells it.
     *
     * @param majorMinor as in /proc/self/mountinfo
     */
    public static long device(String majorMinor) {
        String[] parts = majorMinor.split(":", 2);
        long major = Long.parseLong(parts[0]);
        long minor = Long.parseLong(parts[1]);
        return ((major & 0xfff) << 8)
                | (minor & 0xff)
                | ((minor & ~0xffL) << 12)
                | ((major & ~0xfffL) << 32);
    }
}
