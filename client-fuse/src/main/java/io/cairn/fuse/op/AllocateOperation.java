package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.fuse.kernel.FileFormat;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.RequestBody;
import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/**
 * fallocate(2). Any thread. Plain allocation extends the file and reserves nothing: space is given
 * out when data is written; but more than there is now is refused. Because of that KEEP_SIZE alone
 * would do nothing and is refused. PUNCH_HOLE and ZERO_RANGE write zeros up to the end of the file,
 * so a hole takes space; ranges cannot be inserted or collapsed.
 */
final class AllocateOperation {
    private static final int KEEP_SIZE = 1;
    private static final int PUNCH_HOLE = 2;
    private static final int ZERO_RANGE = 16;
    private static final int PIECE_BYTES = 1 << 20;

    private final MountContext mount;
    private final FileHandles handles;

    AllocateOperation(MountContext mount, FileHandles handles) {
        this.mount = mount;
        this.handles = handles;
    }

    void fallocate(FuseRequest request, RequestBody body) {
        MemorySegment in = body.segment();
        OpenFile file = handles.get(FileFormat.handle(in)).file();
        long start = FileFormat.offset(in);
        long end = start + FileFormat.fallocateLength(in);
        int mode = FileFormat.fallocateMode(in);
        boolean zero = mode == (PUNCH_HOLE | KEEP_SIZE) || (mode & ~KEEP_SIZE) == ZERO_RANGE;
        if (end < start || start < 0) {
            request.fail(Errno.EFBIG);
            return;
        }
        if (mode != 0 && !zero) {
            request.fail(Errno.EOPNOTSUPP);
            return;
        }
        CompletableFuture<Void> done =
                mount.client()
                        .getAttr(file.inode())
                        .thenCompose(attr ->
                                (mode & KEEP_SIZE) != 0
                                        ? CompletableFuture.completedFuture(attr)
                                        : withRoom(attr, start, end))
                        .thenCompose(attr -> {
                            CompletableFuture<Void> zeros =
                                    zero
                                            ? zeros(request, file, start, end, attr)
                                            : CompletableFuture.completedFuture(null);
                            CompletableFuture<Void> whole =
                                    (mode & KEEP_SIZE) != 0
                                            ? zeros
                                            : zeros.thenCompose(
                                                    nothing -> extend(file, attr, start, end));
                            return zero && mount.options().wsync()
                                    ? whole.thenCompose(nothing -> mount.published(file))
                                    : whole;
                        });
        mount.thenEmpty(request, done);
    }

    /** A hole before the start needs no space, as it gets none. */
    private CompletableFuture<Void> extend(OpenFile file, Attr attr, long start, long end) {
        long more = end - Math.max(start, attr.getSize());
        return more <= 0 ? CompletableFuture.completedFuture(null) : file.extend(end);
    }

    /** ENOSPC where the file would get more than there is free. */
    private CompletableFuture<Attr> withRoom(Attr attr, long start, long end) {
        long more = end - Math.max(start, attr.getSize());
        return more <= 0
                ? CompletableFuture.completedFuture(attr)
                : mount.client()
                        .statFs()
                        .thenApply(space -> {
                            if (more > space.getFreeBytes()) {
                                throw new FsException(
                                        Errno.ENOSPC,
                                        more + " bytes wanted, free " + space.getFreeBytes());
                            }
                            return attr;
                        });
    }

    /** Piece after piece; stops where nobody waits any more. */
    private CompletableFuture<Void> zeros(
            FuseRequest request, OpenFile file, long start, long end, Attr attr) {
        long stop = Math.min(end, attr.getSize());
        if (start >= stop || request.answered()) {
            return CompletableFuture.completedFuture(null);
        }
        int length = (int) Math.min(PIECE_BYTES, stop - start);
        ByteBuf piece = mount.buffers().answer(length).writeZero(length);
        return file.write(start, piece, false)
                .thenCompose(nothing -> zeros(request, file, start + length, end, attr));
    }
}
