package io.cairn.fuse.mount;

import io.cairn.fuse.libc.Libc;
import io.cairn.fuse.session.FuseDevice;
import java.nio.file.Path;

/** A way to mount and unmount; which one works depends on who we are. Any thread. */
sealed interface Mounter permits RootMounter, UserMounter {
    /** Mounts; the kernel's first request is waiting on the device. */
    FuseDevice mount(Path mountPoint, MountOptions options) throws MountException;

    /** Changes the flags of a mount: all of them, to these. Open files stay open. */
    void remount(Path mountPoint, MountFlags flags) throws MountException;

    /**
     * Unmounts.
     *
     * @param lazily take it out of the name space also where files are open; they stay usable while
     *     the session serves them
     */
    void unmount(Path mountPoint, boolean lazily) throws MountException;

    static Mounter forThisUser() {
        return Libc.effectiveUid() == 0 ? new RootMounter() : new UserMounter();
    }
}
