package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.proto.Attr;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;

/** An open file of the kernel. Any thread. */
final class FileHandle {
    private final OpenFile file;
    private final Attr whenOpened;
    private final boolean cached;
    private final boolean readable;
    private final boolean quiet;

    /** Set once; a race between two readers only notes the same thing twice. */
    private volatile boolean pagesNoted;

    /**
     * @param cached whether reads and writes go through the kernel's page cache
     * @param readable whether it may be read, and so mapped
     * @param quiet whether the kernel does not tell of closes of its descriptors
     */
    FileHandle(OpenFile file, Attr whenOpened, boolean cached, boolean readable, boolean quiet) {
        this.file = file;
        this.whenOpened = whenOpened;
        this.cached = cached;
        this.readable = readable;
        this.quiet = quiet;
        this.pagesNoted = !cached;
    }

    boolean cached() {
        return cached;
    }

    boolean quiet() {
        return quiet;
    }

    boolean readable() {
        return readable;
    }

    OpenFile file() {
        return file;
    }

    CompletableFuture<ByteBuf> read(long offset, int length) {
        return cached ? file.readForCache(offset, length) : file.read(offset, length);
    }

    /** Before each read: the kernel is about to cache pages. */
    void reading(KernelCache cache) {
        if (!pagesNoted) {
            pagesNoted = true;
            cache.pagesRead(whenOpened);
        }
    }
}
