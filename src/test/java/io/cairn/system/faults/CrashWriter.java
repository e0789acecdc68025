package io.cairn.system.faults;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One thread that changes one directory until the cluster is gone, and remembers what was
 * acknowledged to it: records of one file, each overwritten with fsync, and names ({@link
 * CrashNames}). Started, joined and verified by one other thread.
 */
final class CrashWriter {
    private static final int SLOTS = 200;

    /** Records straddle 4 KiB blocks. */
    private static final int SLOT_BYTES = 3000;

    private static final int PAGE_BYTES = 4096;
    private static final long PATIENCE_MILLIS = TimeUnit.SECONDS.toMillis(200);
    private static final String DATA = "data";

    private final Path root;
    private final int id;
    private final SplittableRandom random;
    private final LongConsumer acknowledged;

    /** In directories of their own; the last is still changed. */
    private final List<CrashNames> names = new ArrayList<>();

    private final long[] ackedVersion = new long[SLOTS];

    /** What each slot is known to hold; zeros at first. */
    private final byte[][] settled = new byte[SLOTS][SLOT_BYTES];

    /** Written before the first acknowledged version, at a crash; it may show up. */
    private final long[] maybeVersion = new long[SLOTS];

    private int pendingSlot = -1;
    private long pendingVersion;
    private long nextVersion = 1;
    private @Nullable Thread thread;
    private volatile boolean stopping;
    private volatile @Nullable Throwable end;

    /**
     * @param root of the directories of all writers
     * @param acknowledged told how many nanoseconds each operation took
     */
    CrashWriter(Path root, int id, SplittableRandom random, LongConsumer acknowledged) {
        this.root = root;
        this.id = id;
        this.random = random;
        this.acknowledged = acknowledged;
    }

    private Path directory(Path below) {
        return below.resolve("writer-" + id);
    }

    private Path namesDirectory(Path below, int number) {
        return directory(below).resolve("names-" + number);
    }

    void start() {
        if (names.isEmpty() || id % 2 == 0) { // others go on in a directory of another mount
            names.add(new CrashNames(namesDirectory(root, names.size()), random.split()));
        }
        stopping = false;
        end = null;
        Thread t = new Thread(this::run, "crash-writer-" + id);
        thread = t;
        t.start();
    }

    /** Fails if the writer met an error: nothing has happened yet that may cause one. */
    void assertWriting() {
        Throwable met = end;
        if (met != null) {
            throw new AssertionError("writer " + id + " ended before the crash", met);
        }
    }

    void stop() {
        stopping = true;
    }

    /** Waits for the writer to run into the end of the cluster, which is an IOException. */
    void join() {
        Thread t = thread;
        if (t == null) {
            return;
        }
        try {
            t.join(PATIENCE_MILLIS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        if (t.isAlive()) {
            AssertionError stuck = new AssertionError("writer " + id + " hangs after the crash");
            stuck.setStackTrace(t.getStackTrace());
            throw stuck;
        }
        Throwable met = end;
        if (met != null && !(met instanceof IOException)) {
            throw new AssertionError("writer " + id + " failed", met);
        }
    }

    /** The mount lives: whatever was acknowledged is promised. */
    void survived() {
        names.forEach(CrashNames::promised);
    }

    private void run() {
        try {
            Files.createDirectories(directory(root));
            names.getLast().makeDirectory();
            try (FileChannel file =
                    FileChannel.open(
                            directory(root).resolve(DATA),
                            StandardOpenOption.CREATE,
                            StandardOpenOption.WRITE)) {
                while (!stopping) {
                    long begun = System.nanoTime();
                    if (random.nextInt(3) == 0) {
                        names.getLast().change();
                    } else {
                        writeSlot(file);
                    }
                    acknowledged.accept(System.nanoTime() - begun);
                }
            }
        } catch (Throwable e) {
            end = e;
        }
    }

    private void writeSlot(FileChannel file) throws IOException {
        int slot = random.nextInt(SLOTS);
        pendingVersion = nextVersion++;
        pendingSlot = slot;
        ByteBuffer bytes = ByteBuffer.wrap(content(slot, pendingVersion));
        long at = (long) slot * SLOT_BYTES;
        while (bytes.hasRemaining()) {
            at += file.write(bytes, at);
        }
        file.force(false);
        ackedVersion[slot] = pendingVersion;
        settled[slot] = content(slot, pendingVersion);
        maybeVersion[slot] = 0;
        pendingSlot = -1;
    }

    /**
     * Compares with what was acknowledged; throws AssertionError for a loss.
     *
     * @param sameRoot as given to the constructor, maybe by another mount
     */
    void verify(Path sameRoot) {
        try {
            verifySlots(directory(sameRoot).resolve(DATA));
            for (int i = 0; i < names.size(); i++) {
                names.get(i).verify(namesDirectory(sameRoot, i));
            }
        } catch (IOException e) {
            throw new AssertionError("writer " + id + " cannot read back", e);
        }
    }

    private void verifySlots(Path data) throws IOException {
        byte[] all;
        try {
            all = Files.readAllBytes(data);
        } catch (NoSuchFileException e) {
            all = new byte[0];
        }
        for (int slot = 0; slot < SLOTS; slot++) {
            byte[] found = new byte[SLOT_BYTES];
            int from = Math.min(all.length, slot * SLOT_BYTES);
            int bytes = Math.min(SLOT_BYTES, all.length - from);
            System.arraycopy(all, from, found, 0, bytes);
            byte[] old = settled[slot];
            if (slot == pendingSlot && ackedVersion[slot] == 0) {
                maybeVersion[slot] = pendingVersion; // its size may be published later
            }
            long maybe = slot == pendingSlot ? pendingVersion : maybeVersion[slot];
            if (Arrays.equals(found, old)) {
                continue;
            }
            if (maybe != 0 && isMixture(slot, found, old, content(slot, maybe))) {
                if (bytes == SLOT_BYTES) {
                    settled[slot] = found;
                }
                continue;
            }
            throw new AssertionError(
                    "LOST DATA: writer %d slot %d: acknowledged version %d, in flight %s, found %s"
                            .formatted(
                                    id,
                                    slot,
                                    ackedVersion[slot],
                                    slot == pendingSlot ? pendingVersion : "none",
                                    identify(slot, found, bytes)));
        }
        pendingSlot = -1;
    }

    /**
     * The kernel may send one write in several requests, cut at page boundaries; each is old or new
     * as a whole.
     */
    private static boolean isMixture(int slot, byte[] found, byte[] old, byte[] next) {
        int at = 0;
        while (at < SLOT_BYTES) {
            int end = Math.min(SLOT_BYTES, at + PAGE_BYTES - (slot * SLOT_BYTES + at) % PAGE_BYTES);
            if (!Arrays.equals(found, at, end, old, at, end)
                    && !Arrays.equals(found, at, end, next, at, end)) {
                return false;
            }
            at = end;
        }
        return true;
    }

    private String identify(int slot, byte[] found, int bytes) {
        for (long v = 1; v < nextVersion; v++) {
            if (Arrays.equals(found, content(slot, v))) {
                return "version " + v;
            }
        }
        return "something else, " + bytes + " bytes in the file";
    }

    private byte[] content(int slot, long version) {
        byte[] bytes = new byte[SLOT_BYTES];
        new SplittableRandom(((long) id << 48) ^ ((long) slot << 32) ^ version).nextBytes(bytes);
        return bytes;
    }
}
