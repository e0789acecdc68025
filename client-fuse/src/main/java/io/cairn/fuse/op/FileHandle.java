package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.proto.Attr;

/** An open file of the kernel. Any thread. */
final class FileHandle {
    private final OpenFile file;
    private final Attr whenOpened;

    /** Set once; a race between two readers only notes the same thing twice. */
    private volatile boolean pagesNoted;

    /**
     * @param cached whether reads go through the kernel's page cache
     */
    FileHandle(OpenFile file, Attr whenOpened, boolean cached) {
        this.file = file;
        this.whenOpened = whenOpened;
        this.pagesNoted = !cached;
    }

    OpenFile file() {
        return file;
    }

    /** Before each read: the kernel is about to cache pages. */
    void reading(KernelCache cache) {
        if (!pagesNoted) {
            pagesNoted = true;
            cache.pagesRead(whenOpened);
        }
    }
}
