package io.cairn.fuse.kernel;

/** Flags of open(2). */
public final class OpenFlag {
    public static final int O_ACCMODE = 3;
    public static final int O_RDONLY = 0;
    public static final int O_WRONLY = 1;
    public static final int O_EXCL = 0x80;
    public static final int O_APPEND = 0x400;
    public static final int O_DSYNC = 0x1000;

    /** The flag's value differs between processors. */
    public static final int O_DIRECT =
            System.getProperty("os.arch").equals("aarch64") ? 0x10000 : 0x4000;

    private OpenFlag() {}
}
