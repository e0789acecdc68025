package io.cairn.fuse.jnr;

import jnr.ffi.LibraryLoader;
import ru.serce.jnrfuse.LibFuse;

/** The functions of libfuse 2, those that jnr-fuse lacks too. Any thread. */
public interface LibFuse2 extends LibFuse {
    /** Whether the caller of the operation that this thread carries out got a signal; 0 if not. */
    int fuse_interrupted();

    /** Fails with {@link UnsatisfiedLinkError} where libfuse 2 is not installed. */
    static LibFuse2 load() {
        return LibraryLoader.create(LibFuse2.class).failImmediately().load("libfuse.so.2");
    }
}
