package io.cairn.fuse.mount;

import static io.cairn.fuse.libc.MountCalls.MS_LAZYTIME;
import static io.cairn.fuse.libc.MountCalls.MS_NODEV;
import static io.cairn.fuse.libc.MountCalls.MS_NODIRATIME;
import static io.cairn.fuse.libc.MountCalls.MS_NOSUID;
import static io.cairn.fuse.libc.MountCalls.MS_RELATIME;
import static io.cairn.fuse.libc.MountCalls.MS_STRICTATIME;

import io.cairn.client.api.CairnClient;
import io.cairn.fuse.jnr.JnrOptions;
import io.cairn.fuse.jnr.JnrSession;
import io.cairn.fuse.libc.LinuxError;
import io.cairn.fuse.session.FuseMeters;
import io.cairn.fuse.session.Serving;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** A mount made and served by libfuse 2. Stateless. */
final class JnrBinding {
    private static final double NANOS_PER_SECOND = 1e9;

    /** What libfuse does not know; the kernel shows them in mount tables. */
    private static final long ADDED_LATER =
            MS_RELATIME | MS_STRICTATIME | MS_NODIRATIME | MS_LAZYTIME;

    private JnrBinding() {}

    /** Returns when it is mounted. */
    static Serving start(
            CairnClient client,
            long root,
            Path path,
            Mounter mounter,
            MountOptions options,
            FuseMeters meters)
            throws MountException {
        if (!Files.exists(Path.of("/dev/fuse"))) {
            throw new MountException(RootMounter.deviceProblem(LinuxError.ENOENT));
        }
        boolean asRoot = mounter instanceof RootMounter;
        if (options.allowOther() && !asRoot) {
            UserMounter.requireUserAllowOther();
        }
        JnrSession session = session(client, root, options, meters);
        session.start(arguments(path, asRoot, options));
        try {
            session.awaitInit(FuseMount.INIT_TIMEOUT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MountException("interrupted while mounting", e);
        } catch (ExecutionException | TimeoutException e) {
            throw new MountException(
                    "libfuse could not mount on "
                            + path
                            + "; it says why on standard error"
                            + (asRoot ? "" : " (it needs the program fusermount: package fuse3)"),
                    e);
        }
        if (asRoot && (options.flags().bits() & ADDED_LATER) != 0) {
            mounter.remount(path, options.flags());
        }
        return session;
    }

    private static JnrSession session(
            CairnClient client, long root, MountOptions options, FuseMeters meters)
            throws MountException {
        try {
            return new JnrSession(
                    client,
                    root,
                    jnrOptions(options, client.sharesLocks() && !options.noLock()),
                    meters);
        } catch (LinkageError e) {
            throw new MountException(
                    "binding=jnr needs libfuse 2 (Debian 12, Ubuntu 22.04: apt install libfuse2;"
                            + " later ones: libfuse2t64): "
                            + String.valueOf(e.getMessage()).lines().findFirst().orElse(""),
                    e);
        }
    }

    /** {@code direct_io} is how it always is without {@code page_cache}. */
    private static JnrOptions jnrOptions(MountOptions options, boolean locks) {
        return new JnrOptions(options.pageCache(), options.wsync(), locks, options.debug());
    }

    /** As of libfuse's main function: the program's name, the mount point, options. */
    static List<String> arguments(Path path, boolean asRoot, MountOptions options) {
        return List.of(
                "cairn",
                path.toString(),
                "-f",
                "-o",
                String.join(",", optionList(asRoot, options)));
    }

    /**
     * {@code hard_remove}: else libfuse renames what is removed while it is open, which other
     * clients would see, and a process that is killed would leave for ever.
     */
    private static List<String> optionList(boolean asRoot, MountOptions options) {
        List<String> list = new ArrayList<>(UserMounter.commonOptions(options));
        if (asRoot) {
            list.add("allow_other");
            list.add("nonempty"); // it was looked at before
            list.add((options.flags().has(MS_NOSUID) ? "no" : "") + "suid");
            list.add((options.flags().has(MS_NODEV) ? "no" : "") + "dev");
        } else if (options.allowOther()) {
            list.add("allow_other");
        }
        list.add("hard_remove");
        list.add("use_ino");
        list.add("big_writes");
        list.add("max_read=" + JnrSession.MAX_IO_BYTES);
        list.add("max_background=" + options.maxBackground());
        list.add("entry_timeout=" + seconds(options.entryTimeoutNanos()));
        list.add("attr_timeout=" + seconds(options.attrTimeoutNanos()));
        list.add("negative_timeout=0");
        list.add("subtype=cairn");
        list.add("fsname=" + options.source().replace("\\", "\\\\"));
        return list;
    }

    private static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%.3f", nanos / NANOS_PER_SECOND);
    }
}
