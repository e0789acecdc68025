package io.cairn.fuse.mount;

import io.cairn.client.api.ClientConfig;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Options of a mount, as of {@code -o}. Immutable.
 *
 * @param flags what every file system knows: {@code ro}, {@code noexec}, {@code sync} and others
 * @param allowOther {@code allow_other}: users other than the one who mounts may use it; always so
 *     when root mounts
 * @param nonEmpty {@code -o nonempty}: mount over a directory that has entries
 * @param debug {@code debug}: log every request of the kernel
 * @param waiting {@code hard}, {@code soft}: whether operations end when servers do not answer
 * @param timeoNanos {@code timeo=TENTHS}: when they end if {@code soft}, in tenths of a second as
 *     the option of NFS
 * @param maxBackground {@code max_background=N}: asynchronous requests in flight, 1 to 65,535
 * @param entryTimeoutNanos {@code entry_timeout=SECONDS}: how long the kernel may take a name for
 *     granted; above 0 another client's rename or removal shows late, and listings bring attributes
 * @param attrTimeoutNanos {@code attr_timeout=SECONDS}: how long the kernel may take attributes for
 *     granted
 * @param directIo {@code direct_io}, as libfuse calls it: no file goes through the kernel's page
 *     cache, so that a file that stays open shows what other clients write
 * @param wsync {@code wsync}, as XFS and CephFS call it: no change is answered before it is
 *     committed, and writes not before the size and times they made are
 * @param fsname {@code fsname=NAME}: the source that mount tables show; empty if not given
 * @param subdir {@code subdir=/PATH}: the directory that is mounted, below the client's root
 * @param binding {@code binding=native|jnr}: what carries the kernel's requests to this process
 * @param pageCache {@code page_cache}, of {@code binding=jnr} only: files go through the kernel's
 *     page cache, which libfuse keeps by path
 * @param noLock {@code nolock}, as of NFS: locks hold among the programs of this mount alone
 * @param noLease {@code nolease}: the kernel keeps names and attributes by their timeouts alone
 * @param syncMetadata {@code sync-metadata}: no change of names or attributes is answered before it
 *     is committed, and no file is closed before its size is; {@code wsync} is more
 */
public record MountOptions(
        MountFlags flags,
        boolean allowOther,
        boolean nonEmpty,
        boolean debug,
        Waiting waiting,
        long timeoNanos,
        int maxBackground,
        long entryTimeoutNanos,
        long attrTimeoutNanos,
        boolean directIo,
        boolean wsync,
        String fsname,
        String subdir,
        Binding binding,
        boolean pageCache,
        boolean noLock,
        boolean noLease,
        boolean syncMetadata) {
    /** Asks for other flags of a mount that is there: see {@link FuseMount#remount}. */
    public static final String REMOUNT = "remount";

    /** What becomes of operations that no server answers. */
    public enum Waiting {
        AS_CONFIGURED,
        HARD,
        SOFT
    }

    /** How the mount speaks with the kernel. */
    public enum Binding {
        /** /dev/fuse itself. */
        NATIVE,
        /** libfuse 2 through jnr-fuse. */
        JNR
    }

    private static final BigDecimal NANOS_PER_SECOND = BigDecimal.valueOf(1_000_000_000);
    private static final BigDecimal TIMEOUT_MAXIMUM = BigDecimal.valueOf(86_400);

    /** What mount(8), systemd and fstab(5) are told in the same list, and what is always so. */
    private static final Set<String> FOR_OTHERS =
            Set.of(
                    "defaults",
                    "default_permissions",
                    "_netdev",
                    "auto",
                    "noauto",
                    "nofail",
                    "user",
                    "nouser",
                    "users",
                    "nousers",
                    "owner",
                    "noowner",
                    "group",
                    "nogroup",
                    "silent",
                    "loud",
                    "nomand",
                    "noiversion");

    private static final List<String> FOR_OTHERS_PREFIXES =
            List.of(
                    "x-",
                    "X-",
                    "comment=",
                    "user=",
                    "helper=",
                    "uhelper=",
                    // Of a mount table: mount(8) gives them back with remount.
                    "user_id=",
                    "group_id=",
                    "max_read=",
                    "blksize=");

    public static final MountOptions DEFAULT =
            new MountOptions(
                    MountFlags.DEFAULT,
                    false,
                    false,
                    false,
                    Waiting.AS_CONFIGURED,
                    Duration.ofMinutes(2).toNanos(),
                    2048,
                    0L,
                    1_000_000_000L,
                    false,
                    false,
                    "",
                    "/",
                    Binding.NATIVE,
                    false,
                    false,
                    false,
                    false);

    /**
     * These options with the source that mount tables show, unless one was given: the server and
     * the directory of the file system, as for other network file systems.
     *
     * @param path of the file system's root within the cluster's; the subdirectory adds to it
     */
    public MountOptions from(String server, String path) {
        if (!fsname.isEmpty()) {
            return this;
        }
        String directory = ("/" + path + "/" + subdir).replaceAll("/+", "/");
        String source =
                directory.length() > 1 && directory.endsWith("/")
                        ? directory.substring(0, directory.length() - 1)
                        : directory;
        return new MountOptions(
                flags,
                allowOther,
                nonEmpty,
                debug,
                waiting,
                timeoNanos,
                maxBackground,
                entryTimeoutNanos,
                attrTimeoutNanos,
                directIo,
                wsync,
                server + ":" + source,
                subdir,
                binding,
                pageCache,
                noLock,
                noLease,
                syncMetadata);
    }

    /** The client's configuration as these options change it. */
    public ClientConfig session(ClientConfig configured) {
        ClientConfig synced = syncMetadata || wsync ? configured.syncingMetadata() : configured;
        return switch (waiting) {
            case AS_CONFIGURED -> synced;
            case HARD -> synced.givingUpAfter(Optional.empty());
            case SOFT -> synced.givingUpAfter(Optional.of(Duration.ofNanos(timeoNanos)));
        };
    }

    /** These options for what they name below this directory. */
    public MountOptions below(String directory) throws MountException {
        return with("subdir=" + directory + "/" + subdir);
    }

    /**
     * Whether the kernel keeps names and attributes as long as their leases last: not with timeouts
     * that say otherwise, nor through libfuse 2, which cannot be told to forget.
     */
    boolean leases() {
        return !noLease
                && binding == Binding.NATIVE
                && entryTimeoutNanos == 0
                && attrTimeoutNanos > 0;
    }

    /** What mount tables show. */
    String source() {
        return fsname.isEmpty() ? "cairn" : fsname;
    }

    /**
     * Reads a comma-separated list, as after {@code -o}, on top of these options. Unknown options
     * and bad values are refused.
     */
    public MountOptions with(String list) throws MountException {
        Parsed p = new Parsed(this);
        for (String option : list.split(",", -1)) {
            if (!option.isBlank()) {
                p.apply(option.strip());
            }
        }
        return p.build();
    }

    /** The options as far as they were read. */
    private static final class Parsed {
        private MountFlags flags;
        private boolean allowOther;
        private boolean nonEmpty;
        private boolean debug;
        private Waiting waiting;
        private long timeoNanos;
        private int maxBackground;
        private long entryTimeoutNanos;
        private long attrTimeoutNanos;
        private boolean directIo;
        private boolean wsync;
        private String fsname;
        private String subdir;
        private Binding binding;
        private boolean pageCache;
        private boolean noLock;
        private boolean noLease;
        private boolean syncMetadata;

        Parsed(MountOptions from) {
            flags = from.flags;
            allowOther = from.allowOther;
            nonEmpty = from.nonEmpty;
            debug = from.debug;
            waiting = from.waiting;
            timeoNanos = from.timeoNanos;
            maxBackground = from.maxBackground;
            entryTimeoutNanos = from.entryTimeoutNanos;
            attrTimeoutNanos = from.attrTimeoutNanos;
            directIo = from.directIo;
            wsync = from.wsync;
            fsname = from.fsname;
            subdir = from.subdir;
            binding = from.binding;
            pageCache = from.pageCache;
            noLock = from.noLock;
            noLease = from.noLease;
            syncMetadata = from.syncMetadata;
        }

        void apply(String option) throws MountException {
            @Nullable MountFlags changed = flags.with(option);
            int equals = option.indexOf('=');
            if (changed != null) {
                flags = changed;
            } else if (forOthers(option)) {
                // Nothing to do.
            } else if (equals < 0) {
                applyFlag(option);
            } else {
                applyValue(option.substring(0, equals), option.substring(equals + 1));
            }
        }

        private static boolean forOthers(String option) {
            return FOR_OTHERS.contains(option)
                    || FOR_OTHERS_PREFIXES.stream().anyMatch(option::startsWith);
        }

        private void applyFlag(String option) throws MountException {
            switch (option) {
                case "allow_other" -> allowOther = true;
                case "nonempty" -> nonEmpty = true;
                case "debug" -> debug = true;
                case "hard" -> waiting = Waiting.HARD;
                case "direct_io" -> directIo = true;
                case "wsync" -> wsync = true;
                case "soft" -> waiting = Waiting.SOFT;
                case "page_cache" -> pageCache = true;
                case "nolock" -> noLock = true;
                case "nolease" -> noLease = true;
                case "sync-metadata" -> syncMetadata = true;
                case REMOUNT ->
                        throw new MountException(
                                "option remount changes a mount that is there: cairn mount -o"
                                        + " remount,ro MOUNTPOINT");
                case "timeo",
                        "max_background",
                        "entry_timeout",
                        "attr_timeout",
                        "fsname",
                        "subdir",
                        "binding" ->
                        throw new MountException("mount option '" + option + "' needs a value");
                default -> throw unknown(option);
            }
        }

        private void applyValue(String key, String value) throws MountException {
            switch (key) {
                case "timeo" -> timeoNanos = tenths(key, value);
                case "max_background" -> maxBackground = count(key, value);
                case "entry_timeout" -> entryTimeoutNanos = seconds(key, value);
                case "attr_timeout" -> attrTimeoutNanos = seconds(key, value);
                case "fsname" -> fsname = text(key, value);
                case "subdir" -> subdir = path(key, value);
                case "binding" -> binding = binding(key, value);
                default -> throw unknown(key);
            }
        }

        private static MountException unknown(String option) {
            return new MountException(
                    "unknown mount option '"
                            + option
                            + "'; known: those of every file system (man 8 mount), and"
                            + " allow_other nonempty debug hard soft timeo= max_background="
                            + " entry_timeout= attr_timeout= direct_io wsync fsname= subdir= binding="
                            + " page_cache nolock nolease sync-metadata");
        }

        private static Binding binding(String key, String value) throws MountException {
            return switch (value) {
                case "native" -> Binding.NATIVE;
                case "jnr" -> Binding.JNR;
                default -> throw bad(key, value, "native or jnr");
            };
        }

        private static int count(String key, String value) throws MountException {
            return number(key, value, 65_535);
        }

        private static long tenths(String key, String value) throws MountException {
            return Duration.ofMillis(100L * number(key, value, 864_000)).toNanos();
        }

        private static int number(String key, String value, int maximum) throws MountException {
            try {
                int n = Integer.parseInt(value);
                if (n >= 1 && n <= maximum) {
                    return n;
                }
            } catch (NumberFormatException e) {
                // Said below.
            }
            throw bad(key, value, "a number from 1 to " + maximum);
        }

        private static long seconds(String key, String value) throws MountException {
            @Nullable BigDecimal seconds = null;
            try {
                seconds = new BigDecimal(value);
            } catch (NumberFormatException e) {
                // Said below.
            }
            if (seconds == null || seconds.signum() < 0 || seconds.compareTo(TIMEOUT_MAXIMUM) > 0) {
                throw bad(key, value, "seconds from 0 to 86400, such as 0.5");
            }
            return seconds.multiply(NANOS_PER_SECOND).setScale(0, RoundingMode.DOWN).longValue();
        }

        private static String text(String key, String value) throws MountException {
            if (value.isEmpty() || value.indexOf(',') >= 0 || value.indexOf('\0') >= 0) {
                throw bad(key, value, "a name that is not empty");
            }
            return value;
        }

        private static String path(String key, String value) throws MountException {
            if (List.of(value.split("/", -1)).stream().anyMatch(name -> name.matches("\\.\\.?"))) {
                throw bad(key, value, "a path without '.' and '..'");
            }
            return text(key, value);
        }

        private static MountException bad(String key, String value, String wanted) {
            return new MountException(
                    String.format(
                            Locale.ROOT, "mount option %s=%s: wanted %s", key, value, wanted));
        }

        MountOptions build() throws MountException {
            if (pageCache && binding != Binding.JNR) {
                throw new MountException(
                        "mount option page_cache is for binding=jnr; the native binding always has"
                                + " the page cache");
            }
            if (pageCache && directIo) {
                throw new MountException(
                        "mount options page_cache and direct_io: a mount has the page cache or not");
            }
            return new MountOptions(
                    flags,
                    allowOther,
                    nonEmpty,
                    debug,
                    waiting,
                    timeoNanos,
                    maxBackground,
                    entryTimeoutNanos,
                    attrTimeoutNanos,
                    directIo,
                    wsync,
                    fsname,
                    subdir,
                    binding,
                    pageCache,
                    noLock,
                    noLease,
                    syncMetadata);
        }
    }
}
