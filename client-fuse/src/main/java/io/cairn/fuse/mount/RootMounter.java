package io.cairn.fuse.mount;

import io.cairn.fuse.libc.Libc;
import io.cairn.fuse.libc.LinuxError;
import io.cairn.fuse.libc.MountCalls;
import io.cairn.fuse.session.FuseDevice;
import java.nio.file.Path;
import java.util.List;

/** mount(2), umount2(2) and umount(8). Any thread. */
final class RootMounter implements Mounter {
    private static final String DEVICE = "/dev/fuse";

    @Override
    public FuseDevice mount(Path mountPoint, MountOptions options) throws MountException {
        int fd = Libc.open(DEVICE, Libc.O_RDWR | Libc.O_CLOEXEC);
        if (fd < 0) {
            throw new MountException(deviceProblem(-fd));
        }
        String data =
                "fd="
                        + fd
                        + ",rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
                        + ",max_read="
                        + FuseMount.MAX_WRITE_BYTES;
        int result =
                MountCalls.mount(
                        options.source(),
                        mountPoint.toString(),
                        MountTable.TYPE,
                        options.flags().bits(),
                        data);
        if (result < 0) {
            Libc.close(fd);
            throw new MountException(mountProblem(mountPoint, -result));
        }
        return new FuseDevice(fd);
    }

    static String deviceProblem(int error) {
        return switch (error) {
            case LinuxError.ENOENT ->
                    DEVICE
                            + " does not exist: load the module (modprobe fuse); in a container"
                            + " start it with --device /dev/fuse --cap-add SYS_ADMIN";
            case LinuxError.ENODEV ->
                    DEVICE + " has no driver behind it: load the module (modprobe fuse)";
            case LinuxError.EACCES, LinuxError.EPERM ->
                    DEVICE
                            + " may not be opened: in a container start it with"
                            + " --device /dev/fuse --cap-add SYS_ADMIN; else check its mode";
            default -> DEVICE + " cannot be opened: " + LinuxError.describe(error);
        };
    }

    private static String mountProblem(Path mountPoint, int error) {
        return switch (error) {
            case LinuxError.EPERM, LinuxError.EACCES ->
                    "mounting on "
                            + mountPoint
                            + " is not permitted: the process lacks CAP_SYS_ADMIN (in a container:"
                            + " --cap-add SYS_ADMIN --security-opt apparmor=unconfined)";
            case LinuxError.ENODEV ->
                    "the kernel has no FUSE file system: load the module (modprobe fuse)";
            default -> "mounting on " + mountPoint + " failed: " + LinuxError.describe(error);
        };
    }

    /** The kernel takes neither source nor type nor data from it. */
    @Override
    public void remount(Path mountPoint, MountFlags flags) throws MountException {
        int result =
                MountCalls.mount(
                        "none",
                        mountPoint.toString(),
                        MountTable.TYPE,
                        flags.bits() | MountCalls.MS_REMOUNT,
                        "");
        if (result < 0) {
            throw new MountException(remountProblem(mountPoint, -result));
        }
    }

    private static String remountProblem(Path mountPoint, int error) {
        return switch (error) {
            case LinuxError.EBUSY ->
                    "remounting "
                            + mountPoint
                            + " read only failed: files on it are open for writing";
            case LinuxError.EPERM, LinuxError.EACCES ->
                    "remounting " + mountPoint + " is not permitted: CAP_SYS_ADMIN is missing";
            default -> "remounting " + mountPoint + " failed: " + LinuxError.describe(error);
        };
    }

    /** Only lazily by this process itself: the call asks the mount nothing then. */
    @Override
    public void unmount(Path mountPoint, boolean lazily) throws MountException {
        if (!lazily) {
            Programs.unmount(
                    mountPoint,
                    List.of("umount", "-i", "-c", mountPoint.toString()),
                    "unmounting needs umount (Debian, Ubuntu: mount)");
            return;
        }
        int result = MountCalls.umount2(mountPoint.toString(), MountCalls.MNT_DETACH);
        if (result == -LinuxError.EINVAL || result == -LinuxError.ENOENT) {
            throw new MountException("nothing is mounted on " + mountPoint);
        }
        if (result < 0) {
            throw new MountException(
                    "unmounting " + mountPoint + " failed: " + LinuxError.describe(-result));
        }
    }
}
