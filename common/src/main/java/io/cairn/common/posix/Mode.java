package io.cairn.common.posix;

/** The bits of st_mode, as in Linux's stat.h: type of the file, privileges, permissions. */
public final class Mode {
    public static final int TYPE_MASK = 0xf000;
    public static final int SOCKET = 0xc000;
    public static final int SYMLINK = 0xa000;
    public static final int REGULAR = 0x8000;
    public static final int BLOCK_DEVICE = 0x6000;
    public static final int DIRECTORY = 0x4000;
    public static final int CHARACTER_DEVICE = 0x2000;
    public static final int FIFO = 0x1000;

    /** With the set-id bits and the sticky bit. */
    public static final int PERMISSIONS = 0xfff;

    public static final int SET_UID = 0x800;
    public static final int SET_GID = 0x400;
    public static final int GROUP_EXECUTE = 0x8;

    private Mode() {}

    public static int type(int mode) {
        return mode & TYPE_MASK;
    }

    public static int permissions(int mode) {
        return mode & PERMISSIONS;
    }

    public static boolean isDirectory(int mode) {
        return type(mode) == DIRECTORY;
    }

    public static boolean isRegular(int mode) {
        return type(mode) == REGULAR;
    }

    public static boolean isSymlink(int mode) {
        return type(mode) == SYMLINK;
    }

    public static boolean isDevice(int mode) {
        return type(mode) == BLOCK_DEVICE || type(mode) == CHARACTER_DEVICE;
    }

    /** Whether a write must take privileges away. */
    public static boolean hasPrivileges(int mode) {
        return (mode & (SET_UID | SET_GID)) != 0;
    }

    /** What is left of the mode when a write or a change of owner takes privileges away. */
    public static int withoutPrivileges(int mode) {
        int left = mode & ~SET_UID;
        return (mode & GROUP_EXECUTE) != 0 ? left & ~SET_GID : left;
    }
}
