package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Credentials;
import io.cairn.fuse.kernel.AttrFormat;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.Notifier;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBuffers;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** What all operations of a mount share. Immutable but for the cache view; any thread. */
record MountContext(
        CairnClient client,
        NodeIds nodes,
        KernelCache cache,
        OpenDirectories directories,
        SecondWalks walks,
        Notifier notifier,
        RequestBuffers buffers,
        OperationOptions options) {

    static Credentials credentials(FuseRequest request) {
        return Credentials.newBuilder().setUid(request.uid()).setGid(request.gid()).build();
    }

    long entryTimeoutNanos() {
        return options.entryTimeoutNanos();
    }

    long attrTimeoutNanos() {
        return options.attrTimeoutNanos();
    }

    /** Makes durable what a write that asks for it has made of size and times. */
    CompletableFuture<Void> published(OpenFile file) {
        return options.wsync() ? file.flush() : file.fsync();
    }

    long inode(FuseRequest request) {
        return nodes.inode(request.node());
    }

    /**
     * The result of an operation on an inode itself, which has no name that could be missing. Where
     * the inode is gone, another client has removed it since the kernel looked up its name. ESTALE
     * makes the kernel walk the path again, which may lead to another file by now, as after a
     * rename over the first.
     */
    static <T> CompletableFuture<T> ofInode(CompletableFuture<T> result) {
        return result.exceptionallyCompose(failure ->
                CompletableFuture.failedFuture(
                        Causes.is(failure, Errno.ENOENT)
                                ? new FsException(Errno.ESTALE, "removed by another client")
                                : failure));
    }

    /**
     * Whether a file has no name and nobody has it open on this mount. It may still be there: open
     * elsewhere, or closed here a moment ago, since nobody waits for RELEASE. Local file systems
     * answer ESTALE to who comes with a file handle of it.
     *
     * @param handles of this mount
     */
    boolean isUnused(Attr attr, FileHandles handles) {
        return attr.getNlink() == 0
                && Mode.isRegular(attr.getMode())
                && !handles.hasAny(attr.getInode())
                && !walks.holds(attr.getInode());
    }

    /** Answers with what the future brings, or with its failure. */
    <T> void then(FuseRequest request, CompletableFuture<T> result, Consumer<T> answer) {
        var _ =
                result.whenComplete((value, failure) -> {
                    if (failure != null) {
                        fail(request, failure);
                        return;
                    }
                    try {
                        answer.accept(value);
                    } catch (RuntimeException e) {
                        request.fail(e);
                    }
                });
    }

    void thenEmpty(FuseRequest request, CompletableFuture<Void> result) {
        var _ =
                result.whenComplete((nothing, failure) -> {
                    if (failure == null) {
                        request.replyEmpty();
                    } else {
                        fail(request, failure);
                    }
                });
    }

    /** After ESTALE the kernel walks the path again. */
    private void fail(FuseRequest request, Throwable failure) {
        if (Causes.is(failure, Errno.ESTALE)) {
            walks.begin(request.pid());
        }
        request.fail(failure);
    }

    void replyEntry(FuseRequest request, Attr attr) {
        ReplyBuffer reply = ReplyBuffer.ofThread();
        AttrFormat.putEntryOut(
                reply.body(), 0, nodes.node(attr), attr, entryTimeoutNanos(), attrTimeoutNanos());
        told(attr);
        request.reply(reply, AttrFormat.ENTRY_OUT_SIZE);
    }

    void replyAttr(FuseRequest request, Attr attr) {
        ReplyBuffer reply = ReplyBuffer.ofThread();
        AttrFormat.putAttrOut(reply.body(), attr, attrTimeoutNanos());
        told(attr);
        request.reply(reply, AttrFormat.ATTR_OUT_SIZE);
    }

    /**
     * The client was away and its caches count for nothing. Inodes whose slots were overwritten
     * lose their pages when they are opened.
     */
    void forgetKernelCaches() {
        notifier.forgetNamesSoon();
        cache.forget(inode -> notifier.dropPagesSoon(nodes.node(inode)));
    }

    /** Attributes of what can be opened. */
    void told(Attr attr) {
        if (Mode.isRegular(attr.getMode())) {
            cache.told(attr);
        } else if (Mode.isDirectory(attr.getMode())) {
            directories.told(attr);
        }
    }

    /** Of an inode the kernel knows, also of a directory that was removed while it has it open. */
    CompletableFuture<Attr> attributes(long inode) {
        return client.getAttr(inode)
                .exceptionallyCompose(failure -> {
                    Attr removed = directories.ofRemoved(inode, failure);
                    return removed == null
                            ? CompletableFuture.failedFuture(failure)
                            : CompletableFuture.completedFuture(removed);
                });
    }
}
