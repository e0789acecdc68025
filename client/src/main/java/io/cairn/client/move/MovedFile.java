package io.cairn.client.move;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataTarget;
import io.cairn.client.data.DataView;
import io.cairn.client.meta.MetaClient;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.FileLayouts;
import io.cairn.common.layout.Striping;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.Method;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A file in both pools, as the newest attributes say. What is read of the one is written to the
 * other under the same truncations: where a data server knows a newer one, both are done again, for
 * what was read may have been cut. Any thread.
 */
final class MovedFile {
    private final MetaClient meta;
    private final long inode;
    private final int newPool;
    private volatile Attr attr;
    private volatile long fence;

    /**
     * @param begun as the answer to the beginning of the move
     */
    MovedFile(MetaClient meta, Attr begun, int newPool) {
        this.meta = meta;
        this.inode = begun.getInode();
        this.newPool = newPool;
        this.attr = begun;
    }

    long inode() {
        return inode;
    }

    int oldPool() {
        return attr.getLayout().getPool();
    }

    Striping striping() {
        return Striping.of(attr.getLayout());
    }

    /** No chunk is at or beyond it. */
    long ceiling() {
        return attr.getSizeCeiling();
    }

    /** From now on chunks of the old pool want this sequence. */
    void fenced(long sequence) {
        fence = sequence;
    }

    CompletableFuture<Void> refresh() {
        return Async.ignoringValue(
                Async.map(
                        meta.query(
                                Method.GET_ATTR,
                                GetAttrRequest.newBuilder().setInode(inode).build(),
                                GetAttrReply.parser(),
                                MetaClient.never()),
                        reply -> take(reply.getAttr())));
    }

    private synchronized Attr take(Attr newer) {
        if (Long.compareUnsigned(newer.getChange(), attr.getChange()) >= 0) {
            attr = newer;
        }
        return attr;
    }

    /**
     * As it is now; of no use any more once a newer truncation is known. EAGAIN if the fence, or
     * the whole move, is over: nothing may be written to the new pool any more.
     */
    Known known() {
        Attr now = attr;
        long sequence = now.getTruncateSequence();
        if (now.getLayout().getPool() == newPool) {
            throw new FsException(Errno.EAGAIN, "inode " + inode + " is in the new pool already");
        }
        if (fence != 0 && sequence > fence) {
            throw new FsException(Errno.EAGAIN, "the fence of inode " + inode + " is over");
        }
        return new Known(now, Math.max(sequence, fence));
    }

    /** The file under one truncation. */
    final class Known {
        private final Attr now;
        private final long sequence;

        private Known(Attr now, long sequence) {
            this.now = now;
            this.sequence = sequence;
        }

        DataTarget source() {
            return target(now.getLayout().getPool());
        }

        DataTarget copy() {
            return target(newPool);
        }

        private DataTarget target(int pool) {
            DataView view =
                    new DataView(
                            pool,
                            Striping.of(now.getLayout()),
                            FileLayouts.maxFileSize(now.getLayout()),
                            sequence,
                            List.copyOf(now.getPendingTruncationsList()),
                            now.getSizeCeiling());
            return new DataTarget() {
                @Override
                public long inode() {
                    return inode;
                }

                @Override
                public DataView view() {
                    return view;
                }

                // A data server knows of a newer truncation: it has refused the request.
                @Override
                public CompletableFuture<Void> refresh() {
                    return Async.then(
                            MovedFile.this.refresh(),
                            nothing -> Async.failed(Errno.ESTALE, "truncated since"));
                }
            };
        }
    }
}
