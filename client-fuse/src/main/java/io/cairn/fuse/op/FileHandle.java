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
    private final long era;

    /** Set once; a race between two requests only notes the same thing twice. */
    private volatile boolean pagesNoted;

    /**
     * @param cached whether reads and writes go through the kernel's page cache
     * @param readable whether it may be read, and so mapped
     * @param quiet whether the kernel does not tell of closes of its descriptors
     * @param era of the pages, from before it was decided whether they stay
     */
    FileHandle(
            OpenFile file,
            Attr whenOpened,
            boolean cached,
            boolean readable,
            boolean quiet,
            long era) {
        this.file = file;
        this.whenOpened = whenOpened;
        this.cached = cached;
        this.readable = readable;
        this.quiet = quiet;
        this.era = era;
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

    /**
     * Before each read and each write, for it is carried out only later: the kernel caches pages.
     */
    void usesPages(KernelCache cache) {
        if (!pagesNoted) {
            pagesNoted = true;
            cache.pagesRead(whenOpened, era);
        }
    }
}
