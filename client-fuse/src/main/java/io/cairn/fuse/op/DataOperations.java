package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.fuse.kernel.FileFormat;
import io.cairn.fuse.kernel.OpenFlag;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBody;
import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Reading, writing and making durable. Any thread. */
final class DataOperations {
    private static final int PAGE_BYTES = 4096;

    private final MountContext mount;
    private final FileHandles handles;
    private final UnseenCloses closes;
    private final AppendOrder order;

    DataOperations(MountContext mount, FileHandles handles, UnseenCloses closes) {
        this.closes = closes;
        this.mount = mount;
        this.handles = handles;
        this.order = new AppendOrder(mount.cache(), mount.buffers().maxWriteBytes() - PAGE_BYTES);
    }

    void read(FuseRequest request, RequestBody body) {
        MemorySegment in = body.segment();
        FileHandle handle = handles.get(FileFormat.handle(in));
        handle.usesPages(mount.cache());
        CompletableFuture<ByteBuf> read = handle.read(FileFormat.offset(in), FileFormat.size(in));
        request.whenGivenUp(() -> read.cancel(false));
        var _ =
                read.whenComplete((data, failure) -> {
                    if (failure == null) {
                        request.reply(data);
                    } else {
                        request.fail(failure);
                    }
                });
    }

    /**
     * Where the mount, the file or the write asks for it, size and mtime are published before the
     * answer: for direct I/O the kernel does not follow up with FSYNC.
     */
    void write(FuseRequest request, RequestBody body) {
        MemorySegment in = body.segment();
        int size = FileFormat.size(in);
        if (size < 0) {
            request.fail(Errno.EINVAL);
            return;
        }
        if (FileFormat.writeAppends(in)) {
            append(request, body, size);
            return;
        }
        FileHandle handle = handles.get(FileFormat.handle(in));
        OpenFile file = handle.file();
        long offset = FileFormat.offset(in);
        boolean kill = FileFormat.writeKillsPrivileges(in);
        int flags = FileFormat.writeFlags(in);
        boolean sync = synced(flags);
        boolean cached = handle.cached() && (flags & OpenFlag.O_DIRECT) == 0;
        if (cached) {
            handle.usesPages(mount.cache());
        } else {
            mount.cache().broken(file.inode());
        }
        mount.client().slowDown();
        ByteBuf data = body.take(FileFormat.WRITE_SIZE, size);
        CompletableFuture<Void> written =
                cached && !sync
                        ? file.writeBehind(offset, data, kill)
                        : file.write(offset, data, kill);
        request.whenGivenUp(() -> written.cancel(false));
        CompletableFuture<Void> over = written.whenComplete(endsPages(file, !cached));
        CompletableFuture<Void> done =
                sync ? over.thenCompose(nothing -> mount.published(file)) : over;
        var _ =
                done.whenComplete((nothing, failure) -> {
                    if (failure == null) {
                        replyWritten(request, size);
                    } else {
                        request.fail(failure);
                    }
                });
    }

    /** Of a write: also one that has failed may have put bytes into the file, or into pages. */
    private <T> BiConsumer<T, @Nullable Throwable> endsPages(OpenFile file, boolean always) {
        return (result, failure) -> {
            if (always || failure != null) {
                mount.cache().broken(file.inode());
            }
        };
    }

    private boolean synced(int flags) {
        return mount.options().wsync() || (flags & OpenFlag.O_DSYNC) != 0;
    }

    /** To the end of the file, wherever other clients have moved it. */
    private void append(FuseRequest request, RequestBody body, int size) {
        MemorySegment in = body.segment();
        FileHandle handle = handles.get(FileFormat.handle(in));
        OpenFile file = handle.file();
        long expected = FileFormat.offset(in);
        boolean kill = FileFormat.writeKillsPrivileges(in);
        int flags = FileFormat.writeFlags(in);
        boolean goesOn = mayGoOn(handle, expected, size);
        mount.cache().broken(file.inode());
        mount.client().slowDown();
        ByteBuf data = body.take(FileFormat.WRITE_SIZE, size);
        AtomicBoolean taken = new AtomicBoolean();
        Function<@Nullable Throwable, CompletableFuture<Long>> start =
                failure -> {
                    if (taken.getAndSet(true)) {
                        return givenUp();
                    }
                    if (failure != null) {
                        return dropped(data, failure);
                    }
                    CompletableFuture<Long> append = file.append(data, kill, goesOn);
                    request.whenGivenUp(() -> append.cancel(false));
                    return append;
                };
        // Until it is started, which may take long behind another piece.
        request.whenGivenUp(() -> {
            if (!taken.getAndSet(true)) {
                data.release();
            }
        });
        CompletableFuture<Long> appended =
                ((flags & OpenFlag.O_DIRECT) == 0
                                ? start.apply(null)
                                : order.append(file.inode(), expected, size, start))
                        .whenComplete(endsPages(file, true));
        CompletableFuture<Long> done =
                synced(flags)
                        ? appended.thenCompose(at -> mount.published(file).thenApply(nothing -> at))
                        : appended;
        var _ =
                done.whenComplete((at, failure) -> {
                    if (failure == null) {
                        appended(request, handle, expected, at, size);
                    } else {
                        request.fail(failure);
                    }
                });
    }

    private static CompletableFuture<Long> givenUp() {
        return CompletableFuture.failedFuture(
                new FsException(Errno.EINTR, "the caller of an append is gone"));
    }

    private static CompletableFuture<Long> dropped(ByteBuf data, Throwable failure) {
        data.release();
        return CompletableFuture.failedFuture(failure);
    }

    /**
     * Whether this may be a part of a larger write: the kernel cuts at its largest WRITE, or a part
     * of a page less; through the page cache also at the ends of pages.
     */
    private boolean mayGoOn(FileHandle handle, long expected, int size) {
        return size > mount.buffers().maxWriteBytes() - PAGE_BYTES
                || (handle.cached() && (expected + size) % PAGE_BYTES == 0);
    }

    /**
     * The kernel has chosen an offset by what it takes for the size; where it is another one, pages
     * of the file are wrong, and in any case those at its end, if other handles have brought them
     * in. Where the data came through the page cache, the kernel holds pages locked until it is
     * answered; else they are dropped before, so that whoever learns of the new size reads what was
     * appended.
     */
    private void appended(
            FuseRequest request, FileHandle handle, long expected, long at, int size) {
        boolean elsewhere = at != expected;
        mount.cache().appended(handle.file().inode(), expected + size);
        if (handle.cached()) {
            replyWritten(request, size);
            if (elsewhere) {
                mount.notifier().dropPagesSoon(request.node());
            }
        } else if (elsewhere || handle.readable() || handles.hasOthers(handle)) {
            mount.notifier()
                    .dropPages(
                            request.node(),
                            Math.min(at, expected),
                            () -> replyWritten(request, size));
        } else {
            replyWritten(request, size);
        }
    }

    private static void replyWritten(FuseRequest request, int size) {
        ReplyBuffer reply = ReplyBuffer.ofThread();
        FileFormat.putWriteOut(reply.body(), size);
        request.reply(reply, FileFormat.WRITE_OUT_SIZE);
    }

    void fsync(FuseRequest request, RequestBody body) {
        mount.thenEmpty(request, handles.get(FileFormat.handle(body.segment())).file().fsync());
    }

    void flush(FuseRequest request, RequestBody body) {
        OpenFile file = handles.get(FileFormat.handle(body.segment())).file();
        long owner = FileFormat.lockOwner(body.segment());
        closes.ended(file.inode(), owner);
        CompletableFuture<Void> flushed = file.flush();
        // Also where the flush fails: the descriptor is closed in any case.
        CompletableFuture<Void> unlocked =
                flushed.handle((nothing, failure) -> file.descriptorClosed(owner))
                        .thenCompose(done -> done);
        mount.thenEmpty(request, unlocked.thenCompose(nothing -> flushed));
    }
}
