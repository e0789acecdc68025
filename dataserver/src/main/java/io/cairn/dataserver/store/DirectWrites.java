package io.cairn.dataserver.store;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.ChunkIndex.Stored;
import io.cairn.dataserver.chunk.ChunkKeys;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.BlockRun;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.store.HeldOps.Held;
import io.cairn.dataserver.wal.Wal;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Writes large payloads to new blocks of the data file instead of the WAL. Its thread takes all
 * that wait, writes them, syncs once, and lets their PGs log them: no record points at a block that
 * was not synced before. Blocks it takes are known to nobody until then, so a crash frees them.
 * Where the chunk has blocks already, or there is no room in few pieces, the payload goes through
 * the WAL, to be merged in place. Any thread.
 */
final class DirectWrites {
    private static final int BLOCK = DataFile.BLOCK_BYTES;

    /** Written before a sync, beyond the first. */
    private static final int ROUND_BYTES = 64 << 20;

    private static final int MAX_EXTENTS = 16;

    private final DataFile data;
    private final ChunkIndex index;
    private final BlockAllocator allocator;
    private final SpaceAccount space;
    private final Wal wal;
    private final int thresholdBytes;
    private final FatalHandler fatal;
    private final String name;
    private final Thread thread;
    private final LinkedBlockingQueue<Job> queue = new LinkedBlockingQueue<>();
    private final ByteBuffer edge = ByteBuffer.allocateDirect(BLOCK);
    private final LongAdder written = new LongAdder();
    private volatile boolean abandoned;

    /** Null ends the thread. */
    private record Job(@Nullable PgStore pg, @Nullable Held held) {}

    /**
     * @param thresholdBytes shorter writes are not taken; 0 takes none
     */
    DirectWrites(OpenedDisk disk, int thresholdBytes, FatalHandler fatal) {
        this.data = disk.data();
        this.index = disk.index();
        this.allocator = disk.allocator();
        this.space = disk.space();
        this.wal = disk.wal();
        this.thresholdBytes = thresholdBytes;
        this.fatal = fatal;
        this.name = disk.name();
        this.thread = Thread.ofPlatform().name(name + "-direct").daemon().unstarted(this::loop);
    }

    void start() {
        thread.start();
    }

    boolean takes(DataOp op) {
        return op.type() == DataOpType.WRITE && thresholdBytes > 0 && op.length() >= thresholdBytes;
    }

    /** The PG is told when the payload is durable, or must be logged. */
    void submit(PgStore pg, Held held) {
        queue.add(new Job(pg, held));
    }

    /** Writes that did not go through the WAL, since opening. */
    long written() {
        return written.sum();
    }

    /**
     * Ends the thread.
     *
     * @param finish whether what waits is written first
     */
    void stop(boolean finish) {
        abandoned |= !finish;
        queue.add(new Job(null, null));
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        queue.forEach(DirectWrites::release);
        queue.clear();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void release(Job job) {
        Held held = job.held();
        if (held != null) {
            held.payload().release(null);
        }
    }

    private void loop() {
        try {
            boolean last = false;
            List<Job> round = new ArrayList<>();
            while (!last) {
                last = take(round);
                if (abandoned) {
                    round.forEach(DirectWrites::release);
                    return;
                }
                write(round);
                round.clear();
            }
        } catch (Throwable e) { // an Error too: the thread must not end unnoticed
            fatal.fatal("writing to the data file of " + name + " failed", e);
        }
    }

    /** True if there will be no more. */
    private boolean take(List<Job> round) throws InterruptedException {
        long bytes = 0;
        for (Job job = queue.take(); job != null; job = queue.poll()) {
            Held held = job.held();
            if (held == null) {
                return true;
            }
            round.add(job);
            bytes += held.op().op().length();
            if (bytes > ROUND_BYTES) {
                break;
            }
        }
        return false;
    }

    private record Placed(PgStore pg, Held held, List<BlockRun> extents) {}

    private void write(List<Job> round) throws IOException {
        List<Placed> placed = new ArrayList<>(round.size());
        boolean dirty = false;
        for (Job job : round) {
            PgStore pg = job.pg();
            Held held = job.held();
            if (pg != null && held != null) {
                List<BlockRun> extents = place(pg.pg(), held.op().op());
                write(held, extents);
                dirty |= !extents.isEmpty();
                placed.add(new Placed(pg, held, extents));
            }
        }
        if (dirty) {
            data.force();
        }
        for (Placed p : placed) {
            long direct = p.extents().isEmpty() ? 0 : 1;
            written.add(direct); // before anybody hears that it is durable
            if (!p.pg().written(wal, p.held(), p.extents())) {
                written.add(-direct);
                release(p.extents());
            }
        }
    }

    /** Empty if it is to go through the WAL. */
    private List<BlockRun> place(int pg, DataOp op) {
        int first = op.offset() / BLOCK;
        int wanted = BlockCrc.count(op.offset(), op.length());
        if (space.admissibleBytes() < (long) SpaceAccount.MAX_EDGES * BLOCK
                || hasBlocks(pg, op, first, first + wanted - 1)) {
            return List.of();
        }
        List<BlockRun> extents = new ArrayList<>(1);
        while (wanted > 0) {
            BlockRun run = extents.size() < MAX_EXTENTS ? allocator.allocate(wanted) : null;
            if (run == null) {
                release(extents);
                return List.of();
            }
            extents.add(run);
            wanted -= run.count();
        }
        return extents;
    }

    private boolean hasBlocks(int pg, DataOp op, int first, int last) {
        Stored stored = index.read(pg, op.inode(), op.chunk(), first, last);
        for (int b = first; b <= last; b++) {
            BlockGroup group = stored.group(b / ChunkKeys.GROUP_BLOCKS);
            if (group.location(b % ChunkKeys.GROUP_BLOCKS) != BlockGroup.ABSENT) {
                return true;
            }
        }
        return false;
    }

    private void release(List<BlockRun> extents) {
        extents.forEach(r -> allocator.release(r.first(), r.count()));
    }

    /** Whole blocks: what the first and the last one have beyond the payload is zeros. */
    private void write(Held held, List<BlockRun> extents) throws IOException {
        if (extents.isEmpty()) {
            return;
        }
        ByteBuf payload = held.payload().bytes();
        int shift = held.op().op().offset() % BLOCK;
        int end = shift + payload.readableBytes();
        int at = 0;
        for (BlockRun run : extents) {
            int stop = at + run.count() * BLOCK;
            int from = at;
            if (at < shift) {
                writeEdge(run.first(), payload, 0, shift);
                from = BLOCK;
            }
            int whole = Math.min(stop, end & -BLOCK);
            if (from < whole) {
                ByteBuffer bytes =
                        payload.nioBuffer(payload.readerIndex() + from - shift, whole - from);
                data.write(run.first() + (from - at) / BLOCK, bytes);
                from = whole;
            }
            if (from < stop) {
                writeEdge(run.first() + (from - at) / BLOCK, payload, from - shift, 0);
            }
            at = stop;
        }
    }

    private void writeEdge(long block, ByteBuf payload, int from, int position) throws IOException {
        int n = Math.min(payload.readableBytes() - from, BLOCK - position);
        edge.clear();
        while (edge.hasRemaining()) {
            edge.putLong(0);
        }
        edge.clear().position(position).limit(position + n);
        payload.getBytes(payload.readerIndex() + from, edge);
        data.write(block, edge.clear());
    }
}
