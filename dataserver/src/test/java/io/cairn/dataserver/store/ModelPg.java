package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.data.Split;
import io.cairn.common.data.SplitFormat;
import io.cairn.dataserver.chunk.ChunkId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a PG's history means, by replaying all of it over plain arrays. */
final class ModelPg {
    /** An operation; what it does is written out here, so as not to trust its encoding. */
    record Op(PgLogEntry entry, long inode, int chunk, byte[] payload, long size, long[] deleted) {}

    private final List<Op> history = new ArrayList<>();
    long acknowledged;
    long committed;

    /** A chunk's content. */
    static final class Content {
        byte[] bytes = new byte[0];
        long truncateSequence;

        void cut(long sequence, int length, long inodeSequence) {
            if (sequence > Math.max(truncateSequence, inodeSequence)) {
                truncateSequence = sequence;
                bytes = Arrays.copyOf(bytes, Math.min(bytes.length, length));
            }
        }
    }

    List<Op> history() {
        return history;
    }

    long last() {
        return history.size();
    }

    /** Unless it was dropped meanwhile. */
    void acknowledge(PgLogEntry e) {
        if (e.sequence() <= last() && history.get((int) e.sequence() - 1).entry() == e) {
            acknowledged = e.sequence();
        }
    }

    void keep(long last) {
        while (history.size() > last) {
            history.removeLast();
        }
        acknowledged = Math.min(acknowledged, last);
    }

    /**
     * What some part of the history, from its begin on, made of the chunks.
     *
     * @param inodeSequences the newest truncation of each inode as a whole
     */
    record State(Map<ChunkId, Content> chunks, Map<Long, Long> inodeSequences) {
        byte[] bytes(long inode, int chunk) {
            Content c = chunks.get(new ChunkId(inode, chunk));
            return c == null ? new byte[0] : c.bytes;
        }

        /** The newest truncation of the chunk or its inode. */
        long truncateSequence(long inode, int chunk) {
            Content c = chunks.get(new ChunkId(inode, chunk));
            return Math.max(
                    c == null ? 0 : c.truncateSequence, inodeSequences.getOrDefault(inode, 0L));
        }
    }

    Map<ChunkId, Content> replay(TestLayout layout) {
        return replay(layout, last()).chunks();
    }

    State replay(TestLayout layout, long lastSequence) {
        Map<ChunkId, Content> chunks = new HashMap<>();
        Map<Long, Long> inodeSequences = new HashMap<>();
        for (Op op : history.subList(0, (int) lastSequence)) {
            DataOp head = op.entry().op();
            switch (head.type()) {
                case WRITE -> {
                    Content c =
                            chunks.computeIfAbsent(
                                    new ChunkId(op.inode(), op.chunk()), k -> new Content());
                    long inodeSequence = inodeSequences.getOrDefault(op.inode(), 0L);
                    for (Cut cut : head.cuts()) {
                        c.cut(cut.sequence(), cut.lengthBytes(), inodeSequence);
                    }
                    c.truncateSequence = Math.max(c.truncateSequence, head.truncateSequence());
                    int end = head.offset() + op.payload().length;
                    if (c.bytes.length < end) {
                        c.bytes = Arrays.copyOf(c.bytes, end);
                    }
                    System.arraycopy(op.payload(), 0, c.bytes, head.offset(), op.payload().length);
                }
                case TRUNCATE_INODE -> {
                    long before = inodeSequences.getOrDefault(op.inode(), 0L);
                    for (Map.Entry<ChunkId, Content> e : chunks.entrySet()) {
                        if (e.getKey().inode() == op.inode()) {
                            e.getValue()
                                    .cut(
                                            head.truncateSequence(),
                                            layout.cut(e.getKey().chunk(), op.size()),
                                            before);
                        }
                    }
                    inodeSequences.merge(op.inode(), head.truncateSequence(), Math::max);
                }
                case DELETE_INODES -> {
                    for (long inode : op.deleted()) {
                        chunks.keySet().removeIf(k -> k.inode() == inode);
                        inodeSequences.remove(inode);
                    }
                }
                case SPLIT -> {
                    Split split = SplitFormat.decode(op.entry().payload().duplicate());
                    chunks.keySet().removeIf(k -> split.takes(k.inode(), k.chunk()));
                }
                case NOOP, MERGE, READ -> {}
            }
        }
        return new State(chunks, inodeSequences);
    }
}
