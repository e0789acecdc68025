package io.cairn.fuse.mount;

import io.cairn.fuse.libc.DescriptorChild;
import io.cairn.fuse.libc.LinuxError;
import io.cairn.fuse.libc.MountCalls;
import io.cairn.fuse.session.FuseDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Mounts without being root, through the set-user-id program fusermount3, which opens /dev/fuse,
 * mounts, and sends the descriptor over a socket. Any thread.
 */
final class UserMounter implements Mounter {
    private static final String PROGRAM = "fusermount3";
    private static final Path CONFIGURATION = Path.of("/etc/fuse.conf");
    private static final String INSTALL = " (Debian, Ubuntu: apt install fuse3)";

    @Override
    public FuseDevice mount(Path mountPoint, MountOptions options) throws MountException {
        if (options.allowOther()) {
            requireUserAllowOther();
        }
        if (!Files.exists(Path.of("/dev/fuse"))) {
            throw new MountException(RootMounter.deviceProblem(LinuxError.ENOENT));
        }
        List<String> command =
                List.of(PROGRAM, "-o", optionList(options), "--", mountPoint.toString());
        DescriptorChild.Result result = DescriptorChild.run(command, "_FUSE_COMMFD");
        if (result.descriptor() >= 0) {
            return new FuseDevice(result.descriptor());
        }
        String said = result.errors().isEmpty() ? "it said nothing" : result.errors();
        if (result.exitStatus() < 0) {
            throw new MountException(
                    "mounting without being root needs " + PROGRAM + INSTALL + ": " + said);
        }
        throw new MountException(
                PROGRAM + " refused to mount on " + mountPoint + ": " + said + hint(said));
    }

    private static String hint(String said) {
        boolean permission = said.contains("/dev/fuse") && said.contains("ermission");
        return permission
                ? "; /dev/fuse must be usable by everybody (chmod 0666 /dev/fuse, as udev does)"
                : "";
    }

    private static String optionList(MountOptions options) {
        List<String> list = new ArrayList<>(commonOptions(options));
        list.add("nosuid");
        list.add("nodev");
        addIf(list, "allow_other", options.allowOther());
        list.add("max_read=" + FuseMount.MAX_WRITE_BYTES);
        list.add("subtype=cairn");
        list.add("fsname=" + options.source());
        return String.join(",", list);
    }

    /** What fusermount3 and libfuse know; the others only change how mount tables look. */
    static List<String> commonOptions(MountOptions options) {
        List<String> list = new ArrayList<>();
        MountFlags flags = options.flags();
        list.add(flags.has(MountCalls.MS_RDONLY) ? "ro" : "rw");
        addIf(list, "noexec", flags.has(MountCalls.MS_NOEXEC));
        addIf(list, "sync", flags.has(MountCalls.MS_SYNCHRONOUS));
        addIf(list, "dirsync", flags.has(MountCalls.MS_DIRSYNC));
        addIf(list, "noatime", flags.has(MountCalls.MS_NOATIME));
        list.add("default_permissions");
        return list;
    }

    private static void addIf(List<String> list, String option, boolean condition) {
        if (condition) {
            list.add(option);
        }
    }

    static void requireUserAllowOther() throws MountException {
        List<String> lines;
        try {
            lines = Files.readAllLines(CONFIGURATION);
        } catch (IOException absent) {
            lines = List.of();
        }
        if (lines.stream().noneMatch(line -> line.strip().equals("user_allow_other"))) {
            throw new MountException(
                    "option allow_other needs a line 'user_allow_other' in "
                            + CONFIGURATION
                            + " when the mount is not made by root");
        }
    }

    @Override
    public void remount(Path mountPoint, MountFlags flags) throws MountException {
        throw new MountException("remounting " + mountPoint + " needs root");
    }

    @Override
    public void unmount(Path mountPoint, boolean lazily) throws MountException {
        List<String> command = new ArrayList<>(List.of(PROGRAM, "-u"));
        if (lazily) {
            command.add("-z");
        }
        command.add("--");
        command.add(mountPoint.toString());
        Programs.unmount(
                mountPoint, command, "unmounting without being root needs " + PROGRAM + INSTALL);
    }
}
