package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Errno;
import io.cairn.fuse.kernel.FileFormat;
import io.cairn.fuse.kernel.OpenFlag;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBody;
import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/** Reading, writing and making durable. Any thread. */
final class DataOperations {
    private static final int PAGE_BYTES = 4096;

    private final MountContext mount;
    private final FileHandles handles;

    DataOperations(MountContext mount, FileHandles handles) {
        this.mount = mount;
        this.handles = handles;
    }

    void read(FuseRequest request, RequestBody body) {
        MemorySegment in = body.segment();
        FileHandle handle = handles.get(FileFormat.handle(in));
        handle.reading(mount.cache());
        var _ =
                handle.file()
                        .read(FileFormat.offset(in), FileFormat.size(in))
                        .whenComplete((data, failure) -> {
                            if (failure == null) {
                                request.reply(data);
                            } else {
                                request.fail(failure);
                            }
                        });
    }

    /**
     * Where the file or the write asks for O_DSYNC, size and mtime are published before the answer:
     * for direct I/O the kernel does not follow up with FSYNC.
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
        OpenFile file = handles.get(FileFormat.handle(in)).file();
        long offset = FileFormat.offset(in);
        boolean kill = FileFormat.writeKillsPrivileges(in);
        boolean sync = (FileFormat.writeFlags(in) & OpenFlag.O_DSYNC) != 0;
        ByteBuf data = body.take(FileFormat.WRITE_SIZE, size);
        int counted = mount.buffers().started(size);
        CompletableFuture<Void> written;
        try {
            written = file.write(offset, data, kill);
        } catch (RuntimeException e) {
            mount.buffers().finished(counted);
            throw e;
        }
        CompletableFuture<Void> done =
                sync ? written.thenCompose(nothing -> file.fsync()) : written;
        var _ =
                done.whenComplete((nothing, failure) -> {
                    mount.buffers().finished(counted);
                    if (failure == null) {
                        replyWritten(request, size);
                    } else {
                        request.fail(failure);
                    }
                });
    }

    /**
     * To the end of the file, wherever other clients have moved it. The kernel has chosen an offset
     * by what it takes for the size; where that is another one, it has put the data into the wrong
     * pages. Those are dropped after the answer, because until then it holds them locked.
     */
    private void append(FuseRequest request, RequestBody body, int size) {
        MemorySegment in = body.segment();
        OpenFile file = handles.get(FileFormat.handle(in)).file();
        long expected = FileFormat.offset(in);
        boolean kill = FileFormat.writeKillsPrivileges(in);
        boolean sync = (FileFormat.writeFlags(in) & OpenFlag.O_DSYNC) != 0;
        // The kernel cuts what is larger into pieces of this size, or a part of a page less.
        boolean goesOn = size > mount.buffers().maxWriteBytes() - PAGE_BYTES;
        ByteBuf data = body.take(FileFormat.WRITE_SIZE, size);
        int counted = mount.buffers().started(size);
        CompletableFuture<Long> appended;
        try {
            appended = file.append(data, kill, goesOn);
        } catch (RuntimeException e) {
            mount.buffers().finished(counted);
            throw e;
        }
        CompletableFuture<Long> done =
                sync ? appended.thenCompose(at -> file.fsync().thenApply(nothing -> at)) : appended;
        var _ =
                done.whenComplete((at, failure) -> {
                    mount.buffers().finished(counted);
                    if (failure != null) {
                        request.fail(failure);
                        return;
                    }
                    replyWritten(request, size);
                    if (at != expected) {
                        mount.notifier().dropPages(request.node());
                    }
                });
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
        mount.thenEmpty(request, handles.get(FileFormat.handle(body.segment())).file().flush());
    }
}
