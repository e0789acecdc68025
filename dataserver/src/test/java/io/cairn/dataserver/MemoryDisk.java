package io.cairn.dataserver;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.data.TruncateInodeFormat;
import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.store.BlockRepair;
import io.cairn.dataserver.store.CorruptBlockException;
import io.cairn.dataserver.store.DiskStore;
import io.cairn.dataserver.store.PgLogEntry;
import io.cairn.dataserver.store.RepairOutcome;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A disk in memory that outlives the server on it. {@link #open} after a kill finds what was
 * durable, and nothing else.
 */
final class MemoryDisk {
    private final Map<Integer, List<PgLogEntry>> logs = new TreeMap<>();
    private final Map<Integer, Integer> synced = new TreeMap<>();
    private final UUID uuid = UUID.randomUUID();
    private final AtomicReference<@Nullable RuntimeException> failEntries = new AtomicReference<>();
    private final List<Runnable> waiting = new ArrayList<>();
    private boolean stalled;
    private volatile boolean damaged;
    private volatile boolean indexDamaged;
    private volatile long admissible = 1L << 30;
    private @Nullable Store open;

    /** Every read meets a damaged block from now on. */
    void damage() {
        damaged = true;
    }

    /** Nothing becomes durable from now on, as with a log that is full. */
    void stall() {
        stalled = true;
    }

    /** What has waited becomes durable, and so does everything else. */
    void goOn() {
        List<Runnable> tasks;
        synchronized (this) {
            stalled = false;
            tasks = List.copyOf(waiting);
            waiting.clear();
        }
        tasks.forEach(Runnable::run);
    }

    private synchronized boolean keep(Runnable sync) {
        return stalled && waiting.add(sync);
    }

    /** The next time that operations are read back, it throws this. */
    void failNextEntries(RuntimeException failure) {
        failEntries.set(failure);
    }

    /** Whether that has happened. */
    boolean failedEntries() {
        return failEntries.get() == null;
    }

    void admit(long bytes) {
        admissible = bytes;
    }

    /** From now on the index cannot be read. */
    void damageIndex() {
        indexDamaged = true;
    }

    synchronized DiskStore open() {
        if (open != null) {
            throw new IllegalStateException("the disk is open");
        }
        logs.forEach((pg, log) -> {
            while (log.size() > synced.getOrDefault(pg, 0)) {
                log.removeLast();
            }
        });
        open = new Store();
        return open;
    }

    /** Operations of the PG that are durable, as text. */
    synchronized List<String> history(int pg) {
        List<PgLogEntry> log = logs.getOrDefault(pg, List.of());
        return log.subList(0, synced.getOrDefault(pg, 0)).stream()
                .map(e ->
                        "(%d, %d) %s %d/%d"
                                .formatted(
                                        e.epoch(),
                                        e.sequence(),
                                        e.op().type(),
                                        e.op().session(),
                                        e.op().number()))
                .toList();
    }

    private final class Store implements DiskStore {
        private final ExecutorService thread = Executors.newSingleThreadExecutor();

        private void later(Runnable task) {
            try {
                thread.execute(task);
            } catch (RejectedExecutionException e) {
                // Killed: what is not done is lost.
            }
        }

        private List<PgLogEntry> log(int pg) {
            return logs.computeIfAbsent(pg, p -> new ArrayList<>());
        }

        @Override
        public void append(PgLogEntry entry, Runnable durable) {
            ByteBuf copy = Unpooled.copiedBuffer(entry.payload());
            synchronized (MemoryDisk.this) {
                List<PgLogEntry> log = log(entry.pg());
                if (entry.sequence() != log.size() + 1L) {
                    throw new IllegalArgumentException(entry.sequence() + " after " + log.size());
                }
                log.add(new PgLogEntry(entry.epoch(), entry.sequence(), entry.op(), copy));
            }
            Runnable sync =
                    () -> {
                        synchronized (MemoryDisk.this) {
                            synced.put(entry.pg(), (int) entry.sequence());
                        }
                        durable.run();
                    };
            later(() -> {
                if (!keep(sync)) {
                    sync.run();
                }
            });
        }

        @Override
        public void commit(int pg, long sequence) {}

        @Override
        public void dropTail(int pg, long lastSequenceKept, Runnable done) {
            later(() -> {
                synchronized (MemoryDisk.this) {
                    List<PgLogEntry> log = log(pg);
                    while (log.size() > lastSequenceKept) {
                        log.removeLast();
                    }
                    synced.put(pg, log.size());
                }
                done.run();
            });
        }

        @Override
        public void read(
                int pg, long inode, int chunk, int offset, int length, ReadCallback callback) {
            later(() -> {
                if (damaged) {
                    callback.done(null, new int[0], new CorruptBlockException("damaged in test"));
                    return;
                }
                byte[] all;
                synchronized (MemoryDisk.this) {
                    all = contents(log(pg), inode, chunk);
                }
                int end = Math.min(all.length, offset + length);
                byte[] part = offset >= end ? new byte[0] : Arrays.copyOfRange(all, offset, end);
                ByteBuf data = Unpooled.directBuffer(Math.max(1, part.length));
                data.writeBytes(part);
                callback.done(data, BlockCrc.compute(data, offset), null);
            });
        }

        @Override
        public void readBlock(int pg, long inode, int chunk, int block, BlockCallback callback) {
            later(() -> callback.done(null, new CorruptBlockException("not for repair")));
        }

        @Override
        public void repair(int pg, BlockRepair repair, Consumer<RepairOutcome> outcome) {
            later(() -> outcome.accept(RepairOutcome.DIFFERENT));
        }

        @Override
        public void onDamage(DamageListener listener) {}

        @Override
        public long truncateSequence(int pg, long inode, int chunk) {
            if (indexDamaged) {
                throw new IndexDamagedException("a bit of it flipped");
            }
            long sequence = 0;
            synchronized (MemoryDisk.this) {
                for (PgLogEntry e : log(pg)) {
                    if (e.op().inode() == inode) {
                        sequence = Math.max(sequence, e.op().truncateSequence());
                    }
                }
            }
            return sequence;
        }

        @Override
        public PgLogState logState(int pg) {
            synchronized (MemoryDisk.this) {
                return state(pg, log(pg));
            }
        }

        @Override
        public List<PgLogEntry> entries(int pg, long after, int maxBytes) {
            RuntimeException failure = failEntries.getAndSet(null);
            if (failure != null) {
                throw failure;
            }
            synchronized (MemoryDisk.this) {
                List<PgLogEntry> log = log(pg);
                List<PgLogEntry> some = new ArrayList<>();
                for (PgLogEntry e : log.subList((int) after, log.size())) {
                    ByteBuf copy = Unpooled.copiedBuffer(e.payload());
                    some.add(new PgLogEntry(e.epoch(), e.sequence(), e.op(), copy));
                }
                return some;
            }
        }

        @Override
        public List<Integer> pgs() {
            synchronized (MemoryDisk.this) {
                return List.copyOf(logs.keySet());
            }
        }

        @Override
        public long admissibleBytes() {
            return admissible;
        }

        @Override
        public UUID uuid() {
            return uuid;
        }

        @Override
        public double walFillRatio() {
            return 0;
        }

        @Override
        public DiskUsage usage() {
            return new DiskUsage(1L << 30, 0, 1L << 30, 1L << 30, 0);
        }

        @Override
        public void onSpace(LongConsumer listener) {}

        @Override
        public void close() {
            thread.shutdownNow();
            thread.close();
            synchronized (MemoryDisk.this) {
                open = null;
            }
        }
    }

    private static byte[] contents(List<PgLogEntry> log, long inode, int chunk) {
        byte[] bytes = new byte[0];
        for (PgLogEntry e : log) {
            DataOp op = e.op();
            switch (op.type()) {
                case WRITE -> {
                    if (op.inode() == inode && op.chunk() == chunk) {
                        int end = op.offset() + op.length();
                        bytes = end > bytes.length ? Arrays.copyOf(bytes, end) : bytes;
                        byte[] data = ByteBufUtil.getBytes(e.payload());
                        System.arraycopy(data, 0, bytes, op.offset(), data.length);
                    }
                }
                case TRUNCATE_INODE -> {
                    if (op.inode() == inode && chunk == 0) {
                        long size = TruncateInodeFormat.decode(e.payload()).size();
                        bytes = Arrays.copyOf(bytes, (int) Math.min(size, bytes.length));
                    }
                }
                case DELETE_INODES -> {
                    for (long gone : DeleteInodesFormat.decode(e.payload())) {
                        bytes = gone == inode ? new byte[0] : bytes;
                    }
                }
                case NOOP, SPLIT, MERGE, READ -> {}
            }
        }
        return bytes;
    }

    private static PgLogState state(int pg, List<PgLogEntry> log) {
        List<EpochStart> starts = new ArrayList<>();
        Map<Long, TreeSet<Long>> numbers = new TreeMap<>();
        long epoch = 0;
        for (PgLogEntry e : log) {
            if (e.epoch() != epoch) {
                epoch = e.epoch();
                starts.add(new EpochStart(epoch, e.sequence()));
            }
            if (e.op().session() != 0) {
                numbers.computeIfAbsent(e.op().session(), s -> new TreeSet<>())
                        .add(e.op().number());
            }
        }
        List<Answered> answered = new ArrayList<>();
        numbers.forEach(
                (s, n) -> answered.add(new Answered(s, 0, n.stream().mapToLong(x -> x).toArray())));
        return new PgLogState(pg, epoch, log.size(), 0, 0, starts, answered);
    }
}
