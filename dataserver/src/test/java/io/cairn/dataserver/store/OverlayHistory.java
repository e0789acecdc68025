package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.data.DataOpType;
import io.cairn.common.layout.Striping;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkOverlay.Range;
import io.cairn.dataserver.chunk.ChunkOverlay.View;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.PgOverlay;
import io.cairn.dataserver.wal.LearnerStep;
import io.cairn.dataserver.wal.LearnerStep.Copy;
import io.cairn.dataserver.wal.LearnerStep.CopyEnd;
import io.cairn.dataserver.wal.LearnerStep.CopyInode;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.ByteBufUtil;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A random history of one PG in its overlay, beside the model. The index below the overlay is the
 * model as of the last round of the flusher, whose operations the overlay forgets later, some at a
 * time. Only the first bytes of each chunk are used, so that operations meet.
 */
final class OverlayHistory {
    static final int INODES = 2;
    static final int CHUNKS = 2;
    static final int USED_BYTES = 128;

    private static final int PG = 1;
    private static final int CHUNK_BYTES = 4096;
    private static final TestLayout LAYOUT = new TestLayout(CHUNK_BYTES, 1, CHUNK_BYTES);
    private static final Striping STRIPING = new Striping(CHUNK_BYTES, 1, CHUNK_BYTES);
    private static final int MAX_WRITE = 48;
    private static final int MAX_FORGOTTEN_AT_ONCE = 4;
    private static final int REPAIR_BYTES = 16;
    private static final int MAX_PENDING = 4;

    private final Random random;
    private final ModelPg model = new ModelPg();
    private final List<List<Long>> shrinks = new ArrayList<>();

    /** What the overlay has and had, oldest first; the first ones are forgotten. */
    private List<LoggedOp> log = new ArrayList<>();

    private int forgotten;
    private int inIndex;
    private ModelPg.State base = model.replay(LAYOUT, 0);
    private long flushed;
    private long nextOrder;
    private long steps;
    private PgOverlay overlay = emptyOverlay();

    OverlayHistory(Random random) {
        this.random = random;
        for (int inode = 0; inode < INODES; inode++) {
            shrinks.add(new ArrayList<>());
        }
    }

    private PgOverlay emptyOverlay() {
        return new PgOverlay(this::stored);
    }

    /** Null if the index does not have the chunk. */
    private @Nullable ChunkHead stored(long inode, int chunk) {
        int length = base.bytes(inode, chunk).length;
        return length == 0
                ? null
                : new ChunkHead(1, flushed, base.truncateSequence(inode, chunk), length);
    }

    /** Does one thing. */
    void step() {
        int what = random.nextInt(100);
        if (what < 45) {
            write();
        } else if (what < 54) {
            shrink();
        } else if (what < 61) {
            truncate();
        } else if (what < 63) {
            delete();
        } else if (what < 65) {
            repair();
        } else if (what < 66) {
            copy();
        } else if (what < 73) {
            model.committed += random.nextInt((int) (model.last() - model.committed) + 1);
        } else if (what < 81) {
            flushRound();
        } else if (what < 95) {
            forget();
        } else if (what < 98) {
            dropTail();
        } else {
            restart();
        }
    }

    // ---- operations

    private void write() {
        long inode = randomInode();
        int chunk = random.nextInt(CHUNKS);
        int offset = random.nextInt(USED_BYTES);
        byte[] payload = new byte[1 + random.nextInt(Math.min(MAX_WRITE, USED_BYTES - offset))];
        Arrays.fill(payload, (byte) (1 + random.nextInt(255)));
        long applied = now().truncateSequence(inode, chunk);
        long known = applied + random.nextInt((int) (shrinks(inode).size() - applied) + 1);
        List<Cut> cuts = new ArrayList<>();
        // A client may still have in its list what the MDS has forgotten since.
        for (long s = 1 + random.nextInt(firstPending(inode)); s <= known; s++) {
            cuts.add(new Cut(s, LAYOUT.cut(chunk, shrinks(inode).get((int) s - 1))));
        }
        PgLogEntry e = Ops.write(PG, 1, next(), inode, chunk, offset, payload, known, cuts);
        append(new ModelPg.Op(e, inode, chunk, payload, 0, new long[0]), null);
    }

    /** At the MDS: data requests and truncations tell of it later. */
    private void shrink() {
        long inode = randomInode();
        if (shrinks(inode).size() - firstPending(inode) < MAX_PENDING - 1) {
            long lastChunk = random.nextInt(CHUNKS);
            shrinks(inode).add(lastChunk * CHUNK_BYTES + random.nextInt(USED_BYTES));
        }
    }

    /** Any one, also again: the MDS repeats what was not answered. */
    private void truncate() {
        long inode = randomInode();
        if (!shrinks(inode).isEmpty()) {
            int s = 1 + random.nextInt(shrinks(inode).size());
            long size = shrinks(inode).get(s - 1);
            PgLogEntry e = Ops.truncate(PG, 1, next(), inode, s, size, LAYOUT);
            append(
                    new ModelPg.Op(e, inode, 0, new byte[0], size, new long[0]),
                    new InodeChange.Truncate(inode, s, size, STRIPING));
        }
    }

    private void delete() {
        long inode = randomInode();
        PgLogEntry e = Ops.delete(PG, 1, next(), inode);
        long[] deleted = {inode};
        append(
                new ModelPg.Op(e, inode, 0, new byte[0], 0, deleted),
                new InodeChange.Delete(deleted));
    }

    private void repair() {
        long inode = randomInode();
        int chunk = random.nextInt(CHUNKS);
        byte[] bytes = now().bytes(inode, chunk);
        if (bytes.length > 0) {
            int from = random.nextInt(bytes.length) & -REPAIR_BYTES;
            int to = Math.min(bytes.length, from + REPAIR_BYTES);
            byte[] content = Arrays.copyOfRange(bytes, from, to);
            PgLogEntry e =
                    Ops.write(PG, 1, model.last(), inode, chunk, from, content, 0, List.of());
            log(logged(e, true, null));
        }
    }

    /** What the chunk is already: in two pieces, perhaps with the inode's head before. */
    private void copy() {
        long inode = randomInode();
        int chunk = random.nextInt(CHUNKS);
        if (random.nextBoolean()) {
            long whole = now().inodeSequences().getOrDefault(inode, 0L);
            DataOp op = LearnerStep.copiedInode(PG, inode, whole);
            InodeChange change = new InodeChange.Copied(inode, whole, false);
            log(step(op, new CopyInode(++steps, false), new byte[0], change));
        }
        byte[] bytes = now().bytes(inode, chunk);
        int cut = random.nextInt(bytes.length + 1);
        long sequence = now().truncateSequence(inode, chunk);
        CopyEnd end = new CopyEnd(1, model.last(), sequence, bytes.length);
        log(copy(inode, chunk, 0, Arrays.copyOf(bytes, cut), true, null));
        log(copy(inode, chunk, cut, Arrays.copyOfRange(bytes, cut, bytes.length), false, end));
    }

    private LoggedOp copy(
            long inode,
            int chunk,
            int offset,
            byte[] bytes,
            boolean begins,
            @Nullable CopyEnd end) {
        DataOp op = LearnerStep.copied(PG, inode, chunk, offset, bytes.length, end, new int[0]);
        return step(op, new Copy(++steps, begins, 0, end), bytes, null);
    }

    private LoggedOp step(DataOp op, LearnerStep step, byte[] bytes, @Nullable InodeChange change) {
        WalRecord record =
                WalRecord.step(
                        1,
                        model.last(),
                        op,
                        step,
                        (offset, target) -> target.put(bytes, offset, target.remaining()),
                        bytes.length);
        return new LoggedOp(record, change, nextOrder++);
    }

    private void append(ModelPg.Op op, @Nullable InodeChange change) {
        model.history().add(op);
        log(logged(op.entry(), false, change));
    }

    private LoggedOp logged(PgLogEntry e, boolean repair, @Nullable InodeChange change) {
        byte[] payload = ByteBufUtil.getBytes(e.payload());
        WalRecord record =
                new WalRecord(
                        nextOrder,
                        e.epoch(),
                        e.sequence(),
                        e.op(),
                        repair,
                        (offset, target) -> target.put(payload, offset, target.remaining()),
                        0,
                        payload.length,
                        List.of());
        return new LoggedOp(record, change, nextOrder++);
    }

    private void log(LoggedOp op) {
        log.add(op);
        overlay.add(op);
    }

    // ---- the flusher, peering, a restart

    private void flushRound() {
        int end = inIndex;
        while (end < log.size() && log.get(end).sequence() <= model.committed) {
            end++;
        }
        if (forgotten == inIndex && end > inIndex) {
            inIndex += 1 + random.nextInt(end - inIndex);
            flushed = log.get(inIndex - 1).sequence();
            base = model.replay(LAYOUT, flushed);
        }
    }

    private void forget() {
        if (forgotten < inIndex) {
            int some = 1 + random.nextInt(Math.min(MAX_FORGOTTEN_AT_ONCE, inIndex - forgotten));
            overlay.removeFlushed(log.subList(forgotten, forgotten + some));
            forgotten += some;
        }
    }

    private void dropTail() {
        long kept = model.committed + random.nextInt((int) (model.last() - model.committed) + 1);
        int first = log.size();
        while (first > inIndex && log.get(first - 1).sequence() > kept) {
            first--;
        }
        overlay.removeDropped(List.copyOf(log.subList(first, log.size())));
        log.subList(first, log.size()).clear();
        model.keep(kept);
    }

    /** The log is read again; of repairs the one that is in the index already may come back. */
    private void restart() {
        List<LoggedOp> before = log;
        log = new ArrayList<>();
        forgotten = 0;
        inIndex = 0;
        overlay = emptyOverlay();
        long last = flushed;
        for (LoggedOp o : before) {
            boolean next = o.isOperation() && o.sequence() == last + 1;
            if (next || (!o.isOperation() && o.sequence() == last)) {
                last = o.sequence();
                log(new LoggedOp(o.record(), o.change(), nextOrder++));
            }
        }
    }

    // ---- what is to be seen, and what is seen

    ModelPg.State now() {
        return model.replay(LAYOUT, model.last());
    }

    boolean wasDeleted(long inode) {
        return model.history().stream()
                .anyMatch(o ->
                        o.entry().op().type() == DataOpType.DELETE_INODES && o.inode() == inode);
    }

    long truncateSequence(long inode, int chunk) {
        PgContent.Logged logged =
                PgContent.Logged.of(overlay, new ContentHead.Key(inode, chunk), false, nextOrder);
        ChunkHead stored = stored(inode, chunk);
        return logged.length(stored) == 0
                ? logged.wholeTruncated(base.inodeSequences().getOrDefault(inode, 0L))
                : logged.truncated(stored);
    }

    /** Bytes [from, to) of the chunk, as far as it goes, by overlay and index. */
    byte[] read(long inode, int chunk, int from, int to) {
        View view = overlay.view(inode, chunk, from, to);
        byte[] stored = base.bytes(inode, chunk);
        byte[] shown = Arrays.copyOf(stored, view.visibleBase(stored.length));
        byte[] all = Arrays.copyOf(shown, view.length(stored.length));
        for (Range r : view.ranges()) {
            DataOp op = r.source().op();
            ByteBuffer target = ByteBuffer.wrap(all, r.start(), r.end() - r.start());
            try {
                r.source().record().read(r.start() - op.offset(), target);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return Arrays.copyOfRange(all, Math.min(from, all.length), Math.min(to, all.length));
    }

    private long next() {
        return model.last() + 1;
    }

    private long randomInode() {
        return 1 + random.nextInt(INODES);
    }

    private List<Long> shrinks(long inode) {
        return shrinks.get((int) inode - 1);
    }

    /** The first shrink of the inode, from 1, whose truncation is not committed. */
    private int firstPending(long inode) {
        for (int s = 1; ; s++) {
            long sequence = s;
            boolean applied =
                    model.history().stream()
                            .limit(model.committed)
                            .map(o -> o.entry().op())
                            .anyMatch(o ->
                                    o.type() == DataOpType.TRUNCATE_INODE
                                            && o.inode() == inode
                                            && o.truncateSequence() == sequence);
            if (!applied) {
                return s;
            }
        }
    }
}
