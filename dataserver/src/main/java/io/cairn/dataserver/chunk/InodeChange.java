package io.cairn.dataserver.chunk;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.data.Merge;
import io.cairn.common.data.MergeFormat;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.cairn.common.data.TruncateInode;
import io.cairn.common.data.TruncateInodeFormat;
import io.cairn.common.layout.Striping;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** What an operation on whole inodes, or on all of a PG, does to their chunks. Immutable. */
public sealed interface InodeChange {
    /** The inodes it concerns. */
    long[] inodes();

    /** A cut that leaves everything. */
    int NO_CUT = Integer.MAX_VALUE;

    /** The length chunk {@code chunk} is cut to. */
    int cut(int chunk);

    /** Appends the payload it was made of. */
    void encode(ByteBuf to);

    /**
     * The operation's change of whole inodes; null for one on a single chunk and for NOOP.
     *
     * @throws io.cairn.common.errno.FsException EPROTO if the payload is malformed
     */
    static @Nullable InodeChange of(DataOp op, ByteBuf payload) {
        return switch (op.type()) {
            case WRITE, NOOP, READ -> null;
            case TRUNCATE_INODE -> {
                TruncateInode t = TruncateInodeFormat.decode(payload);
                yield new Truncate(
                        op.inode(),
                        op.truncateSequence(),
                        t.size(),
                        new Striping(t.stripeUnit(), t.stripeCount(), t.chunkSize()));
            }
            case DELETE_INODES -> new Delete(DeleteInodesFormat.decode(payload));
            case SPLIT -> new Divided(SplitFormat.decode(payload));
            case MERGE -> new United(MergeFormat.decode(payload));
        };
    }

    /** Cuts to a file size. */
    record Truncate(long inode, long sequence, long sizeBytes, Striping striping)
            implements InodeChange {
        @Override
        public long[] inodes() {
            return new long[] {inode};
        }

        @Override
        public int cut(int chunk) {
            int length = striping.chunkLength(sizeBytes, chunk);
            return length < striping.chunkSize() ? length : NO_CUT;
        }

        @Override
        public void encode(ByteBuf to) {
            TruncateInodeFormat.encode(
                    new TruncateInode(
                            sizeBytes,
                            striping.stripeUnit(),
                            striping.stripeCount(),
                            striping.chunkSize()),
                    to);
        }
    }

    /**
     * Copies what another replica has of the inode as a whole.
     *
     * @param clears whether all chunks are removed
     */
    record Copied(long inode, long truncateSequence, boolean clears) implements InodeChange {
        @Override
        public long[] inodes() {
            return new long[] {inode};
        }

        @Override
        public int cut(int chunk) {
            return clears ? 0 : NO_CUT;
        }

        /** Its record says everything. */
        @Override
        public void encode(ByteBuf to) {}
    }

    /** Makes another PG of a part of what is there; no inode changes by it. */
    record Divided(Split split) implements InodeChange {
        @Override
        public long[] inodes() {
            return new long[0];
        }

        @Override
        public int cut(int chunk) {
            return NO_CUT;
        }

        @Override
        public void encode(ByteBuf to) {
            SplitFormat.encode(split, to);
        }
    }

    /** Removes everything. */
    record Delete(long[] inodes) implements InodeChange {
        @Override
        public int cut(int chunk) {
            return 0;
        }

        @Override
        public void encode(ByteBuf to) {
            DeleteInodesFormat.encode(inodes, to);
        }
    }

    /** Takes in the chunks of another PG; of those that are here none changes by it. */
    record United(Merge merge) implements InodeChange {
        @Override
        public long[] inodes() {
            return new long[0];
        }

        @Override
        public int cut(int chunk) {
            return NO_CUT;
        }

        @Override
        public void encode(ByteBuf to) {
            MergeFormat.encode(merge, to);
        }
    }
}
