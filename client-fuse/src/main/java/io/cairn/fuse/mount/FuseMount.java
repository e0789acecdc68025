package io.cairn.fuse.mount;

import io.cairn.client.api.CairnClient;
import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.Meters;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.fuse.session.FuseMeters;
import io.cairn.fuse.session.Serving;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A mounted Cairn file system. Any thread. It uses the client but does not own it: unmount first,
 * then close the client.
 */
public final class FuseMount implements AutoCloseable {
    /** Largest read and write; more needs {@code fs.fuse.max_pages_limit} raised. */
    static final int MAX_WRITE_BYTES = 1 << 20;

    private static final Logger LOG = LoggerFactory.getLogger(FuseMount.class);
    static final long INIT_TIMEOUT_MILLIS = 20_000;
    private static final long SYNC_TIMEOUT_MILLIS = 10_000;
    private static final long END_TIMEOUT_MILLIS = 3_000;

    private final Path mountPoint;
    private final Mounter mounter;
    private final Serving serving;

    /** Of our mount, major:minor: whether what is mounted there later is still ours. */
    private final String device;

    private final AtomicBoolean closed = new AtomicBoolean();

    private FuseMount(Path mountPoint, Mounter mounter, Serving serving, String device) {
        this.mountPoint = mountPoint;
        this.mounter = mounter;
        this.serving = serving;
        this.device = device;
    }

    /** Mounts, and returns when the file system can be used. */
    public static FuseMount mount(
            CairnClient client, Path mountPoint, MountOptions options, Meters meters)
            throws MountException {
        Mounter mounter = Mounter.forThisUser();
        Path path = MountPoint.prepare(mountPoint, mounter, options);
        long root = rootInode(client, options.subdir());
        FuseMeters fuseMeters = new FuseMeters(meters);
        Serving serving =
                switch (options.binding()) {
                    case NATIVE ->
                            NativeBinding.start(
                                    client,
                                    root,
                                    path,
                                    mounter.mount(path, options),
                                    options,
                                    fuseMeters);
                    case JNR -> JnrBinding.start(client, root, path, mounter, options, fuseMeters);
                };
        MountTable.@Nullable Entry mounted = MountTable.at(path);
        FuseMount mount =
                new FuseMount(path, mounter, serving, mounted == null ? "" : mounted.device());
        try {
            serving.awaitInit(INIT_TIMEOUT_MILLIS);
        } catch (InterruptedException e) {
            mount.close();
            Thread.currentThread().interrupt();
            throw new MountException("interrupted while mounting", e);
        } catch (ExecutionException | TimeoutException e) {
            mount.close();
            String why = e.getCause() == null ? "no INIT" : e.getCause().getMessage();
            throw new MountException("mounting on " + path + " failed: " + why, e);
        }
        KernelReadAhead.raise(path, MAX_WRITE_BYTES);
        LOG.info("mounted {} on {}", options.source(), path);
        return mount;
    }

    /** Walks from the client's root to the directory that is to be mounted. */
    private static long rootInode(CairnClient client, String subdir) throws MountException {
        long inode = client.rootInode();
        try {
            for (String name : subdir.split("/", -1)) {
                if (name.isEmpty()) {
                    continue;
                }
                byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
                Attr attr =
                        client.lookup(inode, bytes)
                                .orTimeout(INIT_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)
                                .join();
                if (!Mode.isDirectory(attr.getMode())) {
                    throw new FsException(Errno.ENOTDIR, name);
                }
                inode = attr.getInode();
            }
            return inode;
        } catch (CompletionException | FsException e) {
            throw new MountException(
                    "directory "
                            + subdir
                            + " of the file system cannot be mounted: "
                            + Causes.of(e).getMessage(),
                    e);
        }
    }

    /** Removes a mount made by another process. Only Cairn's. */
    public static void unmount(Path mountPoint) throws MountException {
        Path path = MountPoint.resolve(mountPoint);
        var _ = cairnAt(path);
        Mounter.forThisUser().unmount(path, MountPoint.isDead(path));
    }

    /**
     * Changes those options of a mount that are the kernel's business, such as {@code ro}, also of
     * a mount made by another process. Options of Cairn's own in the list are checked, as fstab(5)
     * puts all of a line there, and count from the next mount on.
     *
     * @param list as after {@code -o}; {@code remount} may be in it
     */
    public static void remount(Path mountPoint, String list) throws MountException {
        Path path = MountPoint.resolve(mountPoint);
        MountTable.Entry entry = cairnAt(path);
        List<String> options =
                Arrays.stream(list.split(",", -1))
                        .map(String::strip)
                        .filter(option -> !option.equals(MountOptions.REMOUNT))
                        .toList();
        var _ = MountOptions.DEFAULT.with(String.join(",", options));
        MountFlags flags = MountFlags.of(entry.options());
        for (String option : options) {
            @Nullable MountFlags changed = flags.with(option);
            flags = changed == null ? flags : changed;
        }
        Mounter.forThisUser().remount(path, flags);
    }

    private static MountTable.Entry cairnAt(Path path) throws MountException {
        MountTable.@Nullable Entry entry = MountTable.at(path);
        if (entry == null) {
            throw new MountException("nothing is mounted on " + path);
        }
        if (!entry.isCairn()) {
            throw new MountException(
                    path + " is a mount of type " + entry.type() + ", not of Cairn");
        }
        return entry;
    }

    /** Where it is mounted: absolute, without symbolic links. */
    public Path mountPoint() {
        return mountPoint;
    }

    /** Waits until somebody has unmounted it: {@link #close}, or umount(8). */
    public void awaitUnmounted() throws InterruptedException {
        serving.awaitEnd();
        removeDeadMount();
    }

    /**
     * Unmounts. Pages that programs wrote through mmap are written back first, for a limited time.
     * Files still open stay usable until this process ends.
     */
    @Override
    public void close() {
        if (closed.getAndSet(true)) {
            return;
        }
        try {
            if (isMounted() && !unmountGently() && isMounted()) {
                mounter.unmount(mountPoint, true);
            }
        } catch (MountException e) {
            LOG.warn("{} could not be unmounted: {}", mountPoint, e.getMessage());
        }
        try {
            if (!serving.awaitEnd(END_TIMEOUT_MILLIS)) {
                LOG.warn(
                        "{} is unmounted, but processes still have files of it open; they get"
                                + " errors when this process ends",
                        mountPoint);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** False where somebody unmounted it, or mounted something else over it. */
    private boolean isMounted() throws MountException {
        MountTable.@Nullable Entry entry = MountTable.at(mountPoint);
        return entry != null && entry.isCairn() && entry.device().equals(device);
    }

    /**
     * Fails where it is in use; then at least what is dirty is written back. Other processes do it:
     * both may ask this one something, and a thread of this process that waits in the kernel for an
     * answer of its own would keep it, and the mount, for ever after a SIGKILL.
     */
    private boolean unmountGently() {
        boolean[] done = new boolean[1];
        Thread attempt =
                Thread.ofPlatform()
                        .daemon()
                        .name("cairn-fuse-unmount")
                        .start(() -> done[0] = unmountOrWriteBack());
        try {
            attempt.join(SYNC_TIMEOUT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return !attempt.isAlive() && done[0];
    }

    private boolean unmountOrWriteBack() {
        try {
            mounter.unmount(mountPoint, false);
            return true;
        } catch (MountException busy) {
            LOG.debug("unmounting {}", mountPoint, busy);
        }
        try {
            Programs.Ended sync = Programs.run(List.of("sync", "-f", mountPoint.toString()));
            if (!sync.well()) {
                LOG.warn(
                        "{} may not have been written back before it was unmounted: {}",
                        mountPoint,
                        sync.said());
            }
        } catch (IOException | InterruptedException e) {
            LOG.warn("{} was not written back before it was unmounted", mountPoint, e);
        }
        return false;
    }

    /** A connection that was aborted leaves its mount behind. */
    private void removeDeadMount() {
        try {
            if (isMounted() && MountPoint.isDead(mountPoint)) {
                mounter.unmount(mountPoint, true);
            }
        } catch (MountException e) {
            LOG.warn("{} may be left as a dead mount", mountPoint, e);
        }
    }
}
