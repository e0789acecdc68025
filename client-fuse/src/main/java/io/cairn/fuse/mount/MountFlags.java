package io.cairn.fuse.mount;

import static io.cairn.fuse.libc.MountCalls.MS_DIRSYNC;
import static io.cairn.fuse.libc.MountCalls.MS_LAZYTIME;
import static io.cairn.fuse.libc.MountCalls.MS_NOATIME;
import static io.cairn.fuse.libc.MountCalls.MS_NODEV;
import static io.cairn.fuse.libc.MountCalls.MS_NODIRATIME;
import static io.cairn.fuse.libc.MountCalls.MS_NOEXEC;
import static io.cairn.fuse.libc.MountCalls.MS_NOSUID;
import static io.cairn.fuse.libc.MountCalls.MS_RDONLY;
import static io.cairn.fuse.libc.MountCalls.MS_RELATIME;
import static io.cairn.fuse.libc.MountCalls.MS_STRICTATIME;
import static io.cairn.fuse.libc.MountCalls.MS_SYNCHRONOUS;
import static java.util.Map.entry;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options of a mount that every file system knows, as the flags of mount(2). The kernel carries
 * them out; those about times of access are shown in mount tables only, as reading never changes
 * such a time in Cairn. Immutable.
 *
 * @param bits MS_…
 */
record MountFlags(long bits) {
    private static final long ATIME = MS_NOATIME | MS_RELATIME | MS_STRICTATIME;

    private record Change(long clears, long sets) {}

    private static final Map<String, Change> OPTIONS =
            Map.ofEntries(
                    entry("ro", set(MS_RDONLY)),
                    entry("rw", clear(MS_RDONLY)),
                    entry("nosuid", set(MS_NOSUID)),
                    entry("suid", clear(MS_NOSUID)),
                    entry("nodev", set(MS_NODEV)),
                    entry("dev", clear(MS_NODEV)),
                    entry("noexec", set(MS_NOEXEC)),
                    entry("exec", clear(MS_NOEXEC)),
                    entry("sync", set(MS_SYNCHRONOUS)),
                    entry("async", clear(MS_SYNCHRONOUS)),
                    entry("dirsync", set(MS_DIRSYNC)),
                    entry("noatime", new Change(ATIME, MS_NOATIME)),
                    entry("relatime", new Change(ATIME, MS_RELATIME)),
                    entry("strictatime", new Change(ATIME, MS_STRICTATIME)),
                    entry("atime", clear(MS_NOATIME)),
                    entry("norelatime", clear(MS_RELATIME)),
                    entry("nostrictatime", clear(MS_STRICTATIME)),
                    entry("nodiratime", set(MS_NODIRATIME)),
                    entry("diratime", clear(MS_NODIRATIME)),
                    entry("lazytime", set(MS_LAZYTIME)),
                    entry("nolazytime", clear(MS_LAZYTIME)));

    /**
     * As mount(8) without options, but that files of others can neither raise rights nor be
     * devices.
     */
    static final MountFlags DEFAULT = new MountFlags(MS_NOSUID | MS_NODEV);

    private static Change set(long bits) {
        return new Change(0, bits);
    }

    private static Change clear(long bits) {
        return new Change(bits, 0);
    }

    /** These with one option more; null where it is none of these. */
    @Nullable MountFlags with(String option) {
        Change change = OPTIONS.get(option);
        return change == null ? null : new MountFlags(bits & ~change.clears | change.sets);
    }

    /**
     * Those of a mount.
     *
     * @param options as a mount table shows them, those of the mount and of its file system, joined
     *     by commas; others among them do not matter
     */
    static MountFlags of(String options) {
        MountFlags flags = new MountFlags(0);
        for (String option : options.split(",", -1)) {
            // "rw" of the one does not take back the "ro" of the other.
            MountFlags more = option.equals("rw") ? null : flags.with(option);
            flags = more == null ? flags : more;
        }
        return flags;
    }

    boolean has(long flag) {
        return (bits & flag) != 0;
    }
}
