package io.cairn.fuse.kernel;

/** Capabilities exchanged by INIT, as bits of flags (0 to 31) and flags2 (32 and up). */
public final class InitFlag {
    public static final long ASYNC_READ = 1L << 0;
    public static final long POSIX_LOCKS = 1L << 1;
    public static final long EXPORT_SUPPORT = 1L << 4;
    public static final long BIG_WRITES = 1L << 5;
    public static final long DONT_MASK = 1L << 6;
    public static final long FLOCK_LOCKS = 1L << 10;
    public static final long READDIRPLUS = 1L << 13;
    public static final long READDIRPLUS_AUTO = 1L << 14;
    public static final long ASYNC_DIO = 1L << 15;
    public static final long PARALLEL_DIROPS = 1L << 18;
    public static final long MAX_PAGES = 1L << 22;
    public static final long HANDLE_KILLPRIV_V2 = 1L << 28;
    public static final long INIT_EXT = 1L << 30;
    public static final long DIRECT_IO_ALLOW_MMAP = 1L << 36;

    /**
     * What Cairn asks for always. Left out on purpose: ATOMIC_O_TRUNC (the kernel sends SETATTR,
     * one path for all truncations), WRITEBACK_CACHE, POSIX_ACL, POSIX_LOCKS and FLOCK_LOCKS (where
     * locks are not those of the cluster the kernel locks locally), AUTO_INVAL_DATA (it throws away
     * the pages this machine itself wrote, see {@link io.cairn.fuse.op.KernelCache}), READDIRPLUS
     * (pays only where the kernel may keep names).
     */
    public static final long ALWAYS =
            ASYNC_READ
                    | EXPORT_SUPPORT
                    | BIG_WRITES
                    | DONT_MASK
                    | ASYNC_DIO
                    | PARALLEL_DIROPS
                    | MAX_PAGES
                    | HANDLE_KILLPRIV_V2
                    | INIT_EXT
                    | DIRECT_IO_ALLOW_MMAP;

    private InitFlag() {}
}
