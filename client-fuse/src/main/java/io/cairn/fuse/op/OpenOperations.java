package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.fuse.kernel.AttrFormat;
import io.cairn.fuse.kernel.FileFormat;
import io.cairn.fuse.kernel.OpenFlag;
import io.cairn.fuse.op.KernelLeases.Asked;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBody;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opening and closing files. Any thread. O_TRUNC comes as a SETATTR of its own. */
final class OpenOperations {
    private static final Logger LOG = LoggerFactory.getLogger(OpenOperations.class);

    private final MountContext mount;
    private final FileHandles handles;

    OpenOperations(MountContext mount, FileHandles handles) {
        this.mount = mount;
        this.handles = handles;
    }

    void open(FuseRequest request, RequestBody body) {
        int flags = FileFormat.openFlags(body.segment());
        mount.then(
                request,
                MountContext.ofInode(open(mount.inode(request), flags))
                        .thenCompose(this::requireUsed),
                file -> opened(request, file, flags));
    }

    private CompletableFuture<OpenFile> open(long inode, int flags) {
        return (flags & OpenFlag.O_ACCMODE) == OpenFlag.O_RDONLY
                ? mount.client().openForReading(inode)
                : mount.client().open(inode, appends(flags));
    }

    /** ESTALE where the kernel knows the inode by a file handle, or by a name that is gone. */
    private CompletableFuture<OpenFile> requireUsed(OpenFile file) {
        if (!mount.isUnused(file.attr(), handles)) {
            return CompletableFuture.completedFuture(file);
        }
        release(file);
        return CompletableFuture.failedFuture(
                new FsException(Errno.ESTALE, "removed, and closed here"));
    }

    /**
     * The kernel forgets attributes that are no longer true before it learns that the file is open,
     * so that an fstat after the open sees what the last writer closed.
     */
    private void opened(FuseRequest request, OpenFile file, int flags) {
        Attr attr = file.attr();
        if (mount.cache().knows(attr)) {
            replyOpen(request, file, attr, flags);
        } else {
            mount.notifier()
                    .invalidateAttributes(
                            request.node(), () -> replyOpen(request, file, attr, flags));
        }
    }

    private void replyOpen(FuseRequest request, OpenFile file, Attr attr, int flags) {
        long handle = handles.add(handle(file, attr, flags));
        ReplyBuffer reply = ReplyBuffer.ofThread();
        FileFormat.putOpenOut(reply.body(), 0, handle, answerFlags(attr, flags));
        if (!request.reply(reply, FileFormat.OPEN_OUT_SIZE)) {
            abandon(handle);
        }
    }

    /**
     * Always exclusive: where the kernel thought a name free and another client was faster, it has
     * checked no permission on the file that is there now. ESTALE makes it walk the path again,
     * find that file, check, and open it.
     */
    void create(FuseRequest request, RequestBody body) {
        int flags = FileFormat.openFlags(body.segment());
        int mode = Mode.permissions(FileFormat.createMode(body.segment()));
        long parent = mount.inode(request);
        byte[] name = body.string(FileFormat.CREATE_SIZE);
        OwnChange change = mount.change().of(parent, name);
        CompletableFuture<OpenFile> created =
                mount.client()
                        .create(
                                parent,
                                name,
                                Mode.REGULAR | mode,
                                true,
                                appends(flags),
                                MountContext.credentials(request));
        AtomicLong nameNanos = new AtomicLong();
        CompletableFuture<OpenFile> judged =
                created.thenApply(file -> {
                    nameNanos.set(change.nameNanos(parent, name, file.made()));
                    return file;
                });
        CompletableFuture<OpenFile> made =
                judged.exceptionallyCompose(failure -> {
                    boolean again =
                            (flags & OpenFlag.O_EXCL) == 0 && Causes.is(failure, Errno.EEXIST);
                    return CompletableFuture.failedFuture(
                            again
                                    ? new FsException(Errno.ESTALE, "made by another client")
                                    : failure);
                });
        mount.thenChanged(
                request,
                change,
                made,
                file ->
                        mount.leases()
                                .answer(() ->
                                        replyCreate(
                                                request,
                                                change.asked(),
                                                nameNanos.get(),
                                                file,
                                                flags)));
    }

    private boolean replyCreate(
            FuseRequest request, Asked asked, long nameNanos, OpenFile file, int flags) {
        Attr attr = file.made();
        long handle = handles.add(handle(file, attr, flags));
        ReplyBuffer reply = ReplyBuffer.ofThread();
        AttrFormat.putEntryOut(
                reply.body(),
                0,
                mount.nodes().node(attr),
                attr,
                nameNanos,
                mount.leases().attrNanos(asked, attr));
        FileFormat.putOpenOut(
                reply.body(), AttrFormat.ENTRY_OUT_SIZE, handle, answerFlags(attr, flags));
        mount.told(attr);
        if (!request.reply(reply, AttrFormat.ENTRY_OUT_SIZE + FileFormat.OPEN_OUT_SIZE)) {
            abandon(handle);
            return false;
        }
        return true;
    }

    private boolean direct(int flags) {
        return mount.options().directIo() || (flags & OpenFlag.O_DIRECT) != 0;
    }

    private static boolean appends(int flags) {
        return (flags & OpenFlag.O_APPEND) != 0
                && (flags & OpenFlag.O_ACCMODE) != OpenFlag.O_RDONLY;
    }

    private FileHandle handle(OpenFile file, Attr attr, int flags) {
        boolean cached = !direct(flags) && !appends(flags);
        return new FileHandle(
                file,
                attr,
                cached,
                (flags & OpenFlag.O_ACCMODE) != OpenFlag.O_WRONLY,
                isQuiet(attr, flags),
                mount.cache().era(file.inode()));
    }

    /**
     * O_DIRECT files bypass the page cache in the FUSE layer itself, which lets writes run in
     * parallel; the kernel's generic way would hold the inode's lock during each.
     *
     * <p>So do O_APPEND files. Through the page cache the kernel sends a record in two parts where
     * it crosses the end of a page that is not whole in the cache, and another client's record
     * could come between them; and it would put the data into the pages of the offset it has
     * guessed.
     */
    private int answerFlags(Attr attr, int flags) {
        int answer = 0;
        if (direct(flags)) {
            answer |= FileFormat.FOPEN_DIRECT_IO | FileFormat.FOPEN_PARALLEL_DIRECT_WRITES;
        } else if (appends(flags)) {
            answer |= FileFormat.FOPEN_DIRECT_IO;
        }
        if (direct(flags) || appends(flags) || mount.cache().pagesAreOf(attr)) {
            answer |= FileFormat.FOPEN_KEEP_CACHE;
        }
        if (isQuiet(attr, flags)) {
            answer |= FileFormat.FOPEN_NOFLUSH;
        }
        return answer;
    }

    /**
     * Whether FLUSH is of no use: there is nothing to publish, and no locks of ranges to end with
     * the close; where the file's first ones are yet to come, see {@link UnseenCloses}.
     */
    private boolean isQuiet(Attr attr, int flags) {
        return (flags & OpenFlag.O_ACCMODE) == OpenFlag.O_RDONLY
                && !(mount.options().locks() && attr.getWasLocked());
    }

    void release(FuseRequest request, RequestBody body) {
        FileHandle handle = handles.remove(FileFormat.handle(body.segment()));
        mount.thenEmpty(request, handle.file().release());
    }

    /** The process no longer waits for the open, so nobody will ever close this. */
    private void abandon(long handle) {
        release(handles.remove(handle).file());
    }

    /** Nobody waits for it. */
    private static void release(OpenFile file) {
        var _ =
                file.release()
                        .exceptionally(failure -> {
                            LOG.warn("closing a file whose open did not succeed", failure);
                            return null;
                        });
    }
}
