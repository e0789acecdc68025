package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import java.util.concurrent.CompletableFuture;

/**
 * The mounted directory and what lies below it. Walking down from the root, the kernel meets
 * nothing else; but an NFS client and open_by_handle_at(2) name inodes by number, and the kernel
 * then walks up by "..". A directory is shown to them only if the mounted one is above it. Other
 * files have no parent of their own, as they may have several names: they are not checked. Any
 * thread.
 */
final class Subtree {
    private final CairnClient client;
    private final NodeIds nodes;

    Subtree(CairnClient client, NodeIds nodes) {
        this.client = client;
        this.nodes = nodes;
    }

    /** Completes with the attributes again; fails with ESTALE where a directory lies outside. */
    CompletableFuture<Attr> require(Attr attr) {
        boolean directory = Mode.isDirectory(attr.getMode());
        if (!directory || nodes.rootInode() == CairnClient.ROOT_INODE) {
            return CompletableFuture.completedFuture(attr);
        }
        return climb(attr).thenApply(root -> attr);
    }

    private CompletableFuture<Attr> climb(Attr directory) {
        long inode = directory.getInode();
        if (inode == nodes.rootInode()) {
            return CompletableFuture.completedFuture(directory);
        }
        if (inode == CairnClient.ROOT_INODE) {
            return CompletableFuture.failedFuture(
                    new FsException(Errno.ESTALE, "a directory outside the mounted one"));
        }
        return client.getAttr(directory.getParent()).thenCompose(this::climb);
    }
}
