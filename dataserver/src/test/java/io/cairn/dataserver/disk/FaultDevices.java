package io.cairn.dataserver.disk;

import io.cairn.common.libc.FileSpace;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Devices for tests that keep what was written and not synced apart: a power cut loses any subset
 * of those pages, and tears some at a sector. Their content is in memory; files of the same names
 * exist so that the rest of the program finds them. Can also fail calls and flip bits.
 */
public final class FaultDevices implements DeviceFiles {
    private static final int PAGE = DeviceFile.PAGE_BYTES;
    private static final int SECTOR = 512;

    private final Random random;
    private final Map<Path, Memory> devices = new HashMap<>();
    private long calls;
    private long failedReads;
    private long cutAtCall = Long.MAX_VALUE;
    private boolean cut;
    private boolean flipped;
    private boolean forceDoesNothing;
    private boolean forcesDeferred;
    private final List<DeferredForce> deferred = new ArrayList<>();
    private @Nullable IOException nextWriteError;
    private Path failingBelow = Path.of("/");
    private @Nullable IOException failingError;
    private @Nullable Path forceFailsBelow;
    private Path failingForcesBelow = Path.of("/");
    private @Nullable IOException failingForces;
    private @Nullable Path heldBelow;
    private String heldThreads = "";
    private int heldForces;
    private @Nullable Room room;
    private boolean cannotReserve;

    /** A file system of a limited size, for the devices of one or more machines. */
    public static final class Room {
        private long pages;
        private @Nullable IOException failing;

        public Room(long bytes) {
            pages = bytes / PAGE;
        }

        public synchronized long leftBytes() {
            return pages * PAGE;
        }

        /** Another program takes all but so much. */
        public synchronized void leave(long bytes) {
            pages = bytes / PAGE;
        }

        /** It can neither be asked what it has nor for space, from now on; null: it can again. */
        public synchronized void fail(@Nullable IOException error) {
            failing = error;
        }

        private synchronized void check() throws IOException {
            if (failing != null) {
                throw failing;
            }
        }

        private synchronized boolean take() {
            return pages > 0 && pages-- > 0;
        }

        private synchronized void giveBack(int some) {
            pages += some;
        }
    }

    /** Devices made from now on take what is written to them, or reserved, from there. */
    public synchronized FaultDevices in(Room fileSystem) {
        room = fileSystem;
        return this;
    }

    /** As a file system without fallocate. */
    public synchronized FaultDevices cannotReserve() {
        cannotReserve = true;
        return this;
    }

    public FaultDevices(long seed) {
        this.random = new Random(seed);
    }

    /** All devices lose power during the given call from now on, counted over writes and syncs. */
    public synchronized void cutPowerIn(long callsFromNow) {
        cutAtCall = calls + callsFromNow;
    }

    public synchronized void cutPower() {
        cut = true;
        notifyAll();
    }

    public synchronized boolean isCut() {
        return cut;
    }

    /** Whether a bit has ever been inverted. */
    public synchronized boolean hasFlipped() {
        return flipped;
    }

    public synchronized long calls() {
        return calls;
    }

    /** The build whose fdatasync is missing: tests must notice it. */
    public synchronized void forceDoesNothing() {
        forceDoesNothing = true;
    }

    /**
     * Syncs succeed at once from now on; until {@link #sync} a power cut may come before any of
     * them, and so before all that was written after it. Or no more so.
     */
    public synchronized void deferForces(boolean on) {
        sync();
        forcesDeferred = on;
    }

    /** What the syncs so far have covered is durable. */
    public synchronized void sync() {
        deferred.forEach(DeferredForce::end);
        deferred.clear();
    }

    /** A sync that has not come to its end: what it covers. */
    private record DeferredForce(Memory memory, Map<Integer, byte[]> pages) {
        void end() {
            pages.forEach((p, bytes) ->
                    System.arraycopy(bytes, 0, memory.synced, p * PAGE, bytes.length));
        }
    }

    /** The power was cut during one of the syncs, or after the last one. */
    private void endSomeForces() {
        int ended = random.nextInt(deferred.size() + 1);
        deferred.subList(0, ended).forEach(DeferredForce::end);
        if (ended < deferred.size()) {
            DeferredForce last = deferred.get(ended);
            for (Memory m : devices.values()) {
                m.current = m.synced.clone();
                m.dirty.clear();
            }
            last.pages.forEach((p, bytes) -> {
                System.arraycopy(bytes, 0, last.memory.current, p * PAGE, bytes.length);
                last.memory.dirty.add(p);
            });
        }
        deferred.clear();
    }

    /** The next write throws this. */
    public synchronized void failNextWrite(IOException error) {
        nextWriteError = error;
    }

    /** Writes to devices below the directory throw this from now on; null: no more. */
    public synchronized void failWritesBelow(Path path, @Nullable IOException error) {
        failingBelow = path.toAbsolutePath();
        failingError = error;
    }

    /** Syncs of devices below the directory throw this from now on; null: no more. */
    public synchronized void failForcesBelow(Path path, @Nullable IOException error) {
        failingForcesBelow = path.toAbsolutePath();
        failingForces = error;
    }

    /**
     * Syncs of devices below the directory wait from now on, until null is given or power is cut.
     */
    public synchronized void holdForcesBelow(@Nullable Path path) {
        holdForcesBelow(path, "");
    }

    /** The same for the syncs of threads whose names end so. */
    public synchronized void holdForcesBelow(@Nullable Path path, String threads) {
        heldBelow = path == null ? null : path.toAbsolutePath();
        heldThreads = threads;
        notifyAll();
    }

    /**
     * The next sync of a device below the directory fails, as Linux does it: what was to be synced
     * never reaches the medium, but the kernel's cache keeps it and calls it clean. It is read
     * until the cache is dropped, or past the cache; later syncs succeed.
     */
    public synchronized void failNextForceBelow(Path path) {
        forceFailsBelow = path.toAbsolutePath();
    }

    /** Whether {@link #failNextForceBelow} has not had its effect yet. */
    public synchronized boolean forceWillFail() {
        return forceFailsBelow != null;
    }

    /** Syncs that wait. */
    public synchronized int heldForces() {
        return heldForces;
    }

    /** The page that has this byte cannot be read from now on, until it is written. */
    public synchronized void failReads(Path path, long position) {
        memory(path).unreadable.add(Math.toIntExact(position / PAGE));
    }

    /** Reads that failed so far. */
    public synchronized long failedReads() {
        return failedReads;
    }

    /** The device is gone; its file is the caller's to delete. */
    public synchronized void lose(Path path) {
        devices.remove(path.toAbsolutePath());
    }

    /** Power is back: of every page not synced there is the old state, the new one or a mixture. */
    public synchronized void restorePower() {
        cut = false;
        cutAtCall = Long.MAX_VALUE;
        endSomeForces();
        for (Memory m : devices.values()) {
            m.loseUnsynced();
        }
    }

    /** A killed process: everything written is there, nothing more was synced. */
    public synchronized void restartProcess() {
        cut = false;
        cutAtCall = Long.MAX_VALUE;
    }

    /** Only pages that have something but zeros keep their space. */
    public synchronized void makeSparse(Path path) {
        Memory m = memory(path);
        for (int p = 0; p < m.current.length / PAGE; p++) {
            boolean zero = true;
            for (int i = p * PAGE; i < (p + 1) * PAGE && zero; i++) {
                zero = m.current[i] == 0;
            }
            if (zero) {
                m.unreserve((long) p * PAGE, PAGE);
            }
        }
    }

    /** The bytes a device has now; change them to corrupt it. */
    public synchronized byte[] bytes(Path path) {
        Memory m = memory(path);
        m.synced = m.current.clone();
        m.dirty.clear();
        m.phantoms.clear();
        return m.current;
    }

    private Memory memory(Path path) {
        Memory m = devices.get(path.toAbsolutePath());
        if (m == null) {
            throw new IllegalArgumentException(path + " is not a device");
        }
        return m;
    }

    /** Inverts one bit of what is stored. */
    public synchronized void flipBit(Path path, long bit) {
        flipped = true;
        byte[] bytes = bytes(path);
        bytes[(int) (bit / 8)] ^= (byte) (1 << (bit % 8));
        Memory m = devices.get(path.toAbsolutePath());
        if (m != null) {
            m.synced = bytes.clone();
        }
    }

    /**
     * Inverts one bit that was written, in a page other than the first; what is synced stays what
     * it is.
     *
     * @return the bit; negative if nothing was written
     */
    public synchronized long flipWrittenBit(Path path, Random chance) {
        Memory m = memory(path);
        List<Integer> written = new ArrayList<>();
        for (int page = 1; page < m.current.length / PAGE; page++) {
            if (!Arrays.equals(m.page(page), new byte[PAGE])) {
                written.add(page);
            }
        }
        if (written.isEmpty()) {
            return -1;
        }
        long page = written.get(chance.nextInt(written.size()));
        long bit = page * PAGE * 8 + chance.nextInt(PAGE * 8);
        m.flip(bit);
        return bit;
    }

    /** The page that has the bit. */
    public synchronized byte[] pageOf(Path path, long bit) {
        return memory(path).page((int) (bit / 8 / PAGE));
    }

    /** Inverts it again. */
    public synchronized void flipBack(Path path, long bit) {
        memory(path).flip(bit);
    }

    @Override
    public synchronized DeviceFile open(Path path) throws IOException {
        Memory m = devices.get(path.toAbsolutePath());
        if (m == null) {
            throw new NoSuchFileException(path.toString());
        }
        return new Handle(m, false);
    }

    @Override
    public synchronized DeviceFile openDirect(Path path) throws IOException {
        return new Handle(memory(path), true);
    }

    @Override
    public synchronized void dropCache(Path path) {
        Memory m = devices.get(path.toAbsolutePath());
        if (m != null) {
            m.dropCache();
        }
    }

    /** Whether the cache has pages of the device that are clean and not what the medium has. */
    public synchronized boolean cacheLies(Path path) {
        return !memory(path).phantoms.isEmpty();
    }

    @Override
    public synchronized DeviceFile create(Path path, long sizeBytes) throws IOException {
        Files.createFile(path);
        Memory m = new Memory(path.toAbsolutePath(), Math.toIntExact(sizeBytes));
        devices.put(path.toAbsolutePath(), m);
        return new Handle(m, false);
    }

    @Override
    public void forceDirectory(Path directory) {}

    private synchronized void awaitRelease(Path path) throws IOException {
        heldForces++;
        try {
            String thread = Thread.currentThread().getName();
            while (!cut
                    && heldBelow != null
                    && path.startsWith(heldBelow)
                    && thread.endsWith(heldThreads)) {
                wait();
            }
        } catch (InterruptedException e) {
            throw new InterruptedIOException("interrupted");
        } finally {
            heldForces--;
        }
    }

    private void countCall() throws IOException {
        if (cut) {
            throw new IOException("power is off");
        }
        calls++;
    }

    /** One opening of a device: of no use after its close. */
    private static final class Handle implements DeviceFile {
        private final Memory memory;
        private final boolean direct;
        private volatile boolean closed;

        Handle(Memory memory, boolean direct) {
            this.memory = memory;
            this.direct = direct;
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            open().write(source, position);
        }

        @Override
        public void read(ByteBuffer target, long position) throws IOException {
            if (direct && (target.remaining() % PAGE != 0 || position % PAGE != 0)) {
                throw new IOException("direct read of " + target.remaining() + " at " + position);
            }
            open().read(target, position, direct);
        }

        @Override
        public void force() throws IOException {
            open().force();
        }

        @Override
        public long sizeBytes() throws IOException {
            return open().sizeBytes();
        }

        @Override
        public FileSpace.Outcome reserve(long position, long bytes) throws IOException {
            return open().reserve(position, bytes);
        }

        @Override
        public void unreserve(long position, long bytes) throws IOException {
            open().unreserve(position, bytes);
        }

        @Override
        public long allocatedBytes() throws IOException {
            return open().allocatedBytes();
        }

        @Override
        public long roomBytes() throws IOException {
            return open().roomBytes();
        }

        @Override
        public void close() {
            closed = true;
        }

        private Memory open() throws IOException {
            if (closed) {
                throw new IOException("the device is closed");
            }
            return memory;
        }
    }

    private final class Memory {
        private final Path path;
        private byte[] current;
        private byte[] synced;
        private final TreeSet<Integer> dirty = new TreeSet<>();
        private final TreeSet<Integer> unreadable = new TreeSet<>();

        /** Pages of the cache that are clean and not what the medium has. */
        private final TreeSet<Integer> phantoms = new TreeSet<>();

        /** Pages that have space, where that is counted. */
        private final BitSet allocated = new BitSet();

        private final @Nullable Room limit = room;

        Memory(Path path, int size) {
            this.path = path;
            current = new byte[size];
            synced = new byte[size];
        }

        byte[] page(int page) {
            return Arrays.copyOfRange(current, page * PAGE, (page + 1) * PAGE);
        }

        void flip(long bit) {
            byte mask = (byte) (1 << (bit % 8));
            current[(int) (bit / 8)] ^= mask;
            synced[(int) (bit / 8)] ^= mask;
        }

        void write(ByteBuffer source, long position) throws IOException {
            synchronized (FaultDevices.this) {
                countCall();
                if (source.remaining() % PAGE != 0 || position % PAGE != 0) {
                    throw new IOException("write of " + source.remaining() + " at " + position);
                }
                IOException error = nextWriteError;
                if (error != null) {
                    nextWriteError = null;
                    throw error;
                }
                IOException full = failingError;
                if (full != null && path.startsWith(failingBelow)) {
                    throw full;
                }
                int at = Math.toIntExact(position);
                if (!allocate(at / PAGE, (at + source.remaining()) / PAGE)) {
                    throw new IOException("No space left on device");
                }
                for (int p = at / PAGE; p < (at + source.remaining()) / PAGE; p++) {
                    dirty.add(p);
                    unreadable.remove(p);
                    phantoms.remove(p);
                }
                source.get(current, at, source.remaining());
                cutIfDue();
            }
        }

        void read(ByteBuffer target, long position, boolean direct) throws IOException {
            synchronized (FaultDevices.this) {
                if (cut) {
                    throw new IOException("power is off");
                }
                if (position + target.remaining() > current.length) {
                    throw new EOFException("read beyond the end");
                }
                long last = position + target.remaining() - 1;
                if (!unreadable
                        .subSet((int) (position / PAGE), (int) (last / PAGE) + 1)
                        .isEmpty()) {
                    failedReads++;
                    throw new IOException("Input/output error");
                }
                int start = target.position();
                target.put(current, Math.toIntExact(position), target.remaining());
                if (direct) {
                    for (int p :
                            phantoms.subSet((int) (position / PAGE), (int) (last / PAGE) + 1)) {
                        int at = p * PAGE;
                        target.put(start + Math.toIntExact(at - position), synced, at, PAGE);
                    }
                }
            }
        }

        void force() throws IOException {
            synchronized (FaultDevices.this) {
                awaitRelease(path);
                countCall();
                IOException error = failingForces;
                if (error != null && path.startsWith(failingForcesBelow)) {
                    throw error;
                }
                cutIfDue();
                if (forceFailsBelow != null && path.startsWith(forceFailsBelow)) {
                    forceFailsBelow = null;
                    phantoms.addAll(dirty);
                    dirty.clear();
                    throw new IOException("Input/output error");
                }
                if (forcesDeferred) {
                    Map<Integer, byte[]> pages = new TreeMap<>();
                    for (int p : dirty) {
                        pages.put(p, Arrays.copyOfRange(current, p * PAGE, (p + 1) * PAGE));
                    }
                    deferred.add(new DeferredForce(this, pages));
                    dirty.clear();
                } else if (!forceDoesNothing) {
                    for (int p : dirty) {
                        System.arraycopy(current, p * PAGE, synced, p * PAGE, PAGE);
                    }
                    dirty.clear();
                }
            }
        }

        long sizeBytes() {
            return current.length;
        }

        private boolean allocate(int first, int end) {
            Room from = limit;
            for (int p = first; from != null && p < end; p++) {
                if (!allocated.get(p)) {
                    if (!from.take()) {
                        return false;
                    }
                    allocated.set(p);
                }
            }
            return true;
        }

        FileSpace.Outcome reserve(long position, long bytes) throws IOException {
            synchronized (FaultDevices.this) {
                if (limit != null) {
                    limit.check();
                }
                if (cannotReserve) {
                    return FileSpace.Outcome.UNSUPPORTED;
                }
                boolean all = allocate((int) (position / PAGE), (int) ((position + bytes) / PAGE));
                return all ? FileSpace.Outcome.DONE : FileSpace.Outcome.NO_SPACE;
            }
        }

        void unreserve(long position, long bytes) {
            synchronized (FaultDevices.this) {
                int first = (int) (position / PAGE);
                int end = (int) ((position + bytes) / PAGE);
                if (limit != null) {
                    limit.giveBack(allocated.get(first, end).cardinality());
                    allocated.clear(first, end);
                }
                Arrays.fill(current, first * PAGE, end * PAGE, (byte) 0);
                for (int p = first; p < end; p++) {
                    dirty.add(p);
                }
            }
        }

        long allocatedBytes() {
            synchronized (FaultDevices.this) {
                return limit == null ? current.length : (long) allocated.cardinality() * PAGE;
            }
        }

        long roomBytes() throws IOException {
            if (limit == null) {
                return Long.MAX_VALUE;
            }
            limit.check();
            return limit.leftBytes();
        }

        private void cutIfDue() throws IOException {
            if (calls >= cutAtCall) {
                cut = true;
                throw new IOException("power was cut");
            }
        }

        private void dropCache() {
            for (int p : phantoms) {
                System.arraycopy(synced, p * PAGE, current, p * PAGE, PAGE);
            }
            phantoms.clear();
        }

        private void loseUnsynced() {
            dropCache();
            for (int p : dirty) {
                int fate = random.nextInt(3);
                for (int s = 0; s < PAGE; s += SECTOR) {
                    boolean old = fate == 0 || (fate == 1 && random.nextBoolean());
                    if (old) {
                        int at = p * PAGE + s;
                        System.arraycopy(synced, at, current, at, SECTOR);
                    }
                }
            }
            dirty.clear();
            synced = current.clone();
        }
    }
}
