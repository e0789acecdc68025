package io.cairn.fuse.jnr;

import jnr.ffi.Pointer;
import jnr.ffi.annotations.Delegate;
import org.jspecify.annotations.Nullable;

/**
 * What libfuse calls, by the kinds of its arguments. jnr-fuse's own interfaces take names as
 * strings of the platform's encoding, in which not every name can be said: names are bytes.
 */
public final class Callbacks {
    private Callbacks() {}

    /** Of a name. */
    public interface OfName {
        @Delegate
        int call(Pointer name);
    }

    /** Of a name and a structure, or of two names. */
    public interface OfNameAndPointer {
        @Delegate
        int call(Pointer name, Pointer other);
    }

    /** flush, release, releasedir: of an open file, whose name may be missing. */
    public interface OfInfo {
        @Delegate
        int call(@Nullable Pointer name, Pointer info);
    }

    public interface OfNameAndInt {
        @Delegate
        int call(Pointer name, int number);
    }

    public interface OfNameAndLong {
        @Delegate
        int call(Pointer name, long number);
    }

    /** chown. */
    public interface OfNameAndTwoInts {
        @Delegate
        int call(Pointer name, int first, int second);
    }

    /** mknod. */
    public interface OfNameIntAndLong {
        @Delegate
        int call(Pointer name, int mode, long device);
    }

    /** readlink, listxattr. */
    public interface OfNameAndBuffer {
        @Delegate
        int call(Pointer name, Pointer buffer, long size);
    }

    /** read, write. */
    public interface OfData {
        @Delegate
        int call(@Nullable Pointer name, Pointer buffer, long size, long offset, Pointer info);
    }

    /** create, fsync, fsyncdir. */
    public interface OfIntAndInfo {
        @Delegate
        int call(@Nullable Pointer name, int number, Pointer info);
    }

    /** ftruncate. */
    public interface OfLongAndInfo {
        @Delegate
        int call(@Nullable Pointer name, long number, Pointer info);
    }

    /** fgetattr. */
    public interface OfStructureAndInfo {
        @Delegate
        int call(@Nullable Pointer name, Pointer structure, Pointer info);
    }

    public interface GetXattr {
        @Delegate
        int call(Pointer name, Pointer attribute, Pointer value, long size);
    }

    public interface SetXattr {
        @Delegate
        int call(Pointer name, Pointer attribute, Pointer value, long size, int flags);
    }

    public interface ReadDir {
        @Delegate
        int call(@Nullable Pointer name, Pointer buffer, Pointer filler, long offset, Pointer info);
    }

    public interface Allocate {
        @Delegate
        int call(@Nullable Pointer name, int mode, long offset, long length, Pointer info);
    }

    /** lock, of ranges. */
    public interface Lock {
        @Delegate
        int call(@Nullable Pointer name, Pointer info, int command, Pointer lock);
    }

    /** flock, of whole files. */
    public interface Flock {
        @Delegate
        int call(@Nullable Pointer name, Pointer info, int operation);
    }

    public interface Init {
        @Delegate
        @Nullable Pointer call(Pointer connection);
    }
}
