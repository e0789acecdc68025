package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.fuse.kernel.StatFsFormat;
import io.cairn.fuse.session.RequestBuffers;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/**
 * One fallocate(2). Any thread. Plain allocation extends the file and reserves nothing: space is
 * given out when data is written; but more than there is now is refused. Because of that KEEP_SIZE
 * alone would do nothing and is refused. PUNCH_HOLE and ZERO_RANGE write zeros up to the end of the
 * file, so a hole takes space; ranges cannot be inserted or collapsed.
 */
public final class Allocation {
    private static final int KEEP_SIZE = 1;
    private static final int PUNCH_HOLE = 2;
    private static final int ZERO_RANGE = 16;
    private static final int PIECE_BYTES = 1 << 20;

    private final CairnClient client;
    private final OpenFile file;
    private final RequestBuffers buffers;
    private final boolean published;
    private final BooleanSupplier inVain;
    private final int mode;
    private final long start;
    private final long end;

    /**
     * @param published whether what zeros have made of the times is committed before it is done
     * @param inVain whether nobody waits any more
     * @param mode FALLOC_FL_…
     */
    public Allocation(
            CairnClient client,
            OpenFile file,
            RequestBuffers buffers,
            boolean published,
            BooleanSupplier inVain,
            int mode,
            long offset,
            long length) {
        this.client = client;
        this.file = file;
        this.buffers = buffers;
        this.published = published;
        this.inVain = inVain;
        this.mode = mode;
        this.start = offset;
        this.end = offset + length;
    }

    /** Fails with EFBIG, EOPNOTSUPP, ENOSPC and as writes do. */
    public CompletableFuture<Void> start() {
        boolean keep = (mode & KEEP_SIZE) != 0;
        boolean zero = mode == (PUNCH_HOLE | KEEP_SIZE) || (mode & ~KEEP_SIZE) == ZERO_RANGE;
        if (end < start || start < 0) {
            return refused(Errno.EFBIG);
        }
        if (mode != 0 && !zero) {
            return refused(Errno.EOPNOTSUPP);
        }
        return client.getAttr(file.inode())
                .thenCompose(
                        attr -> keep ? CompletableFuture.completedFuture(attr) : withRoom(attr))
                .thenCompose(attr -> {
                    CompletableFuture<Void> zeros =
                            zero ? zeros(start, attr) : CompletableFuture.completedFuture(null);
                    CompletableFuture<Void> whole =
                            keep ? zeros : zeros.thenCompose(nothing -> extend(attr));
                    return zero && published ? whole.thenCompose(nothing -> file.flush()) : whole;
                });
    }

    private CompletableFuture<Void> refused(Errno errno) {
        return CompletableFuture.failedFuture(
                new FsException(errno, "fallocate mode " + mode + " from " + start + " to " + end));
    }

    /** A hole before the start needs no space, as it gets none. */
    private long more(Attr attr) {
        return end - Math.max(start, attr.getSize());
    }

    private CompletableFuture<Void> extend(Attr attr) {
        return more(attr) <= 0 ? CompletableFuture.completedFuture(null) : file.extend(end);
    }

    /** ENOSPC where the file would get more than there is free. */
    private CompletableFuture<Attr> withRoom(Attr attr) {
        long more = more(attr);
        return more <= 0
                ? CompletableFuture.completedFuture(attr)
                : client.statFs()
                        .thenApply(space -> {
                            long available = StatFsFormat.availableBytes(space);
                            if (more > available) {
                                throw new FsException(
                                        Errno.ENOSPC,
                                        more + " bytes wanted, available " + available);
                            }
                            return attr;
                        });
    }

    /** Piece after piece; stops where nobody waits any more. */
    private CompletableFuture<Void> zeros(long from, Attr attr) {
        long stop = Math.min(end, attr.getSize());
        if (from >= stop || inVain.getAsBoolean()) {
            return CompletableFuture.completedFuture(null);
        }
        int length = (int) Math.min(PIECE_BYTES, stop - from);
        ByteBuf piece = buffers.answer(length).writeZero(length);
        return file.write(from, piece, false).thenCompose(nothing -> zeros(from + length, attr));
    }
}
