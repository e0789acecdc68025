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
import io.cairn.fuse.op.KernelLeases.Asked;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.Notifier;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBuffers;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** What all operations of a mount share. Immutable but for the cache view; any thread. */
record MountContext(
        CairnClient client,
        NodeIds nodes,
        KernelCache cache,
        OpenDirectories directories,
        SecondWalks walks,
        KernelLeases leases,
        Notifier notifier,
        RequestBuffers buffers,
        OperationOptions options) {

    static Credentials credentials(FuseRequest request) {
        return Credentials.newBuilder().setUid(request.uid()).setGid(request.gid()).build();
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

    /** An operation of this mount that changes what it is then said to be of. */
    OwnChange change() {
        return new OwnChange(this);
    }

    /**
     * As {@link #then} for an operation that changes names or attributes.
     *
     * @param answer says whether the kernel took it
     */
    <T> void thenChanged(
            FuseRequest request,
            OwnChange change,
            CompletableFuture<T> result,
            Predicate<T> answer) {
        var _ =
                result.whenComplete((value, failure) -> {
                    try {
                        if (failure == null) {
                            change.ended(!request.answered());
                            if (!answer.test(value)) {
                                change.untold();
                            }
                            return;
                        }
                        if (isUnknown(failure)) {
                            change.ended(!request.answered());
                            change.untold();
                        }
                        fail(request, failure);
                    } catch (RuntimeException e) {
                        request.fail(e);
                    }
                });
    }

    /** Whether the operation may have been carried out, or still be, all the same. */
    private static boolean isUnknown(Throwable failure) {
        return Causes.is(failure, Errno.EIO) || Causes.is(failure, Errno.ETIMEDOUT);
    }

    /** After ESTALE the kernel walks the path again. */
    private void fail(FuseRequest request, Throwable failure) {
        if (Causes.is(failure, Errno.ESTALE)) {
            walks.begin(request.pid());
        }
        request.fail(failure);
    }

    /** What a name was found to mean. */
    boolean replyEntry(FuseRequest request, Asked asked, long directory, byte[] name, Attr attr) {
        return leases.answer(() ->
                putEntry(
                        request,
                        attr,
                        leases.nameNanos(asked, directory, name, attr.getNameLeaseMicros()),
                        leases.attrNanos(asked, attr)));
    }

    /** What a name was made to mean by an operation. */
    void thenEntry(
            FuseRequest request,
            OwnChange change,
            CompletableFuture<Attr> made,
            long directory,
            byte[] name) {
        AtomicLong nameNanos = new AtomicLong();
        CompletableFuture<Attr> judged =
                made.thenApply(attr -> {
                    nameNanos.set(change.nameNanos(directory, name, attr));
                    return attr;
                });
        thenChanged(
                request,
                change,
                judged,
                attr ->
                        leases.answer(() ->
                                putEntry(
                                        request,
                                        attr,
                                        nameNanos.get(),
                                        leases.attrNanos(change.asked(), attr))));
    }

    boolean putEntry(FuseRequest request, Attr attr, long nameNanos, long attrNanos) {
        ReplyBuffer reply = ReplyBuffer.ofThread();
        AttrFormat.putEntryOut(reply.body(), 0, nodes.node(attr), attr, nameNanos, attrNanos);
        told(attr);
        return request.reply(reply, AttrFormat.ENTRY_OUT_SIZE);
    }

    /** There is no such name. */
    void replyMissing(
            FuseRequest request, Asked asked, long directory, byte[] name, int leaseMicros) {
        var _ =
                leases.answer(() -> {
                    long nanos = leases.nameNanos(asked, directory, name, leaseMicros);
                    if (nanos == 0) {
                        return request.fail(Errno.ENOENT);
                    }
                    ReplyBuffer reply = ReplyBuffer.ofThread();
                    AttrFormat.putMissing(reply.body(), nanos);
                    return request.reply(reply, AttrFormat.ENTRY_OUT_SIZE);
                });
    }

    void replyAttr(FuseRequest request, Asked asked, Attr attr) {
        var _ = leases.answer(() -> putAttr(request, attr, leases.attrNanos(asked, attr)));
    }

    /**
     * Attributes as this mount has changed them. Without a lease: before Linux 6.16 the kernel
     * believes this answer whatever it was told since.
     */
    boolean replyChanged(FuseRequest request, Attr attr) {
        return putAttr(request, attr, leases.held() ? 0 : options.attrTimeoutNanos());
    }

    private boolean putAttr(FuseRequest request, Attr attr, long nanos) {
        ReplyBuffer reply = ReplyBuffer.ofThread();
        AttrFormat.putAttrOut(reply.body(), attr, nanos);
        told(attr);
        return request.reply(reply, AttrFormat.ATTR_OUT_SIZE);
    }

    /**
     * The client was away and its caches count for nothing. Inodes whose slots were overwritten
     * lose their pages when they are opened.
     */
    void forgetKernelCaches() {
        leases.forgetAll();
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
