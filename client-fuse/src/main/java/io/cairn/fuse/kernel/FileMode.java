package io.cairn.fuse.kernel;

/** Bits of st_mode and of open(2) flags. */
public final class FileMode {
    public static final int TYPE = 0xf000;
    public static final int REGULAR = 0x8000;
    public static final int DIRECTORY = 0x4000;
    public static final int PERMISSIONS = 0xfff;

    public static final int O_ACCMODE = 3;
    public static final int O_RDONLY = 0;
    public static final int O_EXCL = 0x80;
    public static final int O_DSYNC = 0x1000;

    /** The flag's value differs between processors. */
    public static final int O_DIRECT =
            System.getProperty("os.arch").equals("aarch64") ? 0x10000 : 0x4000;

    private FileMode() {}
}
