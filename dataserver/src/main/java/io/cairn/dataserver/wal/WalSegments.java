package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.DeviceFile;
import io.cairn.dataserver.disk.DeviceFiles;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.PageBuffers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The files of a WAL: those in use, oldest first, and those free. Some of the free ones are kept
 * for deletes and for records of the log itself. Any thread.
 */
final class WalSegments implements AutoCloseable {
    private static final String NAME = "segment-";
    private static final int ZEROS_BYTES = 4 << 20;

    private final UUID disk;
    private final int segmentBytes;
    private final List<WalSegment> all;
    private final int reserved;
    // guarded by this
    private final ArrayDeque<WalSegment> free = new ArrayDeque<>();
    private final ArrayDeque<WalSegment> live = new ArrayDeque<>();
    private long lastGeneration;
    private boolean closed;
    private boolean draining;

    private WalSegments(UUID disk, int segmentBytes, List<WalSegment> all) {
        this.disk = disk;
        this.segmentBytes = segmentBytes;
        this.all = all;
        this.reserved = Math.clamp(all.size() / 8, 1, 4);
    }

    /**
     * Makes the files: zeros, synced, so that later syncs write data only. They go past the page
     * cache: it keeps what it has, and nothing is copied.
     */
    static void create(DeviceFiles files, Path directory, int count, int segmentBytes)
            throws IOException {
        ByteBuffer zeros = PageBuffers.allocate(Math.min(segmentBytes, ZEROS_BYTES));
        for (int i = 0; i < count; i++) {
            Path path = directory.resolve(name(i));
            if (Files.exists(path)) {
                continue;
            }
            try {
                files.create(path, segmentBytes).close();
                try (DeviceFile device = files.openDirect(path)) {
                    fill(device, zeros, segmentBytes);
                }
            } catch (IOException e) {
                throw new IOException(
                        String.format(
                                "making the write-ahead log, %d MiB, in %s: %s. Its space is taken"
                                        + " when it is made: give it more, or make wal_size smaller",
                                ((long) count * segmentBytes) >> 20, directory, e.getMessage()),
                        e);
            }
        }
        files.forceDirectory(directory);
    }

    private static void fill(DeviceFile device, ByteBuffer zeros, int bytes) throws IOException {
        for (int at = 0; at < bytes; at += zeros.capacity()) {
            zeros.clear().limit(Math.min(zeros.capacity(), bytes - at));
            device.write(zeros, at);
        }
        device.force();
    }

    /**
     * Opens the files; all must be there and have the size. A log without one of them may have lost
     * its end, which no record tells.
     *
     * @param count of the files, 0 if it is not known
     */
    static WalSegments open(
            DeviceFiles files, Path directory, int count, int segmentBytes, UUID disk)
            throws IOException, DiskOpenException {
        int last = Math.max(count, highestNumber(directory) + 1);
        List<WalSegment> all = new ArrayList<>();
        for (int i = 0; i < last; i++) {
            Path path = directory.resolve(name(i));
            if (!Files.exists(path)) {
                closeAll(all);
                throw missing(path, last, disk);
            }
            DeviceFile device = files.openDirect(path);
            all.add(new WalSegment(path, device, files.open(path)));
            if (device.sizeBytes() != segmentBytes) {
                closeAll(all);
                throw new DiskOpenException(
                        path
                                + " has "
                                + device.sizeBytes()
                                + " bytes, wal_segment is "
                                + segmentBytes
                                + "; the segment size of a disk cannot change");
            }
        }
        if (all.isEmpty()) {
            throw new DiskOpenException(
                    directory
                            + " has no segments: the write-ahead log of disk "
                            + disk
                            + " is gone: put it back; "
                            + DiskOpenException.KEEP_AS_IT_IS);
        }
        return new WalSegments(disk, segmentBytes, all);
    }

    private static DiskOpenException missing(Path path, int count, UUID disk) {
        return new DiskOpenException(
                String.format(
                        "%s is missing, one of the %d files of the write-ahead log of disk %s: put"
                                + " it back. If it is lost, so are acknowledged writes; %s",
                        path, count, disk, DiskOpenException.KEEP_AS_IT_IS));
    }

    private static String name(int i) {
        return String.format(NAME + "%05d", i);
    }

    /** Of the files there are; -1 if there is none. */
    private static int highestNumber(Path directory) throws IOException {
        int highest = -1;
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory, NAME + "*")) {
            for (Path p : entries) {
                String number = p.getFileName().toString().substring(NAME.length());
                if (number.matches("\\d{5,9}")) {
                    highest = Math.max(highest, Integer.parseInt(number));
                }
            }
        }
        return highest;
    }

    Collection<WalSegment> all() {
        return all;
    }

    UUID disk() {
        return disk;
    }

    int segmentBytes() {
        return segmentBytes;
    }

    /** Longest batch that fits into a segment. */
    int maxBatchBytes() {
        return segmentBytes - WalSegmentFormat.BYTES;
    }

    /** After recovery: these are in use, in this order, the rest is free. */
    synchronized void recovered(List<WalSegment> inUse, long highestGeneration) {
        live.addAll(inUse);
        for (WalSegment s : all) {
            if (!inUse.contains(s)) {
                s.use(null);
                free.add(s);
            }
        }
        lastGeneration = highestGeneration;
    }

    /**
     * Takes a free segment into use; waits for one. Null when closed, or draining and none is free.
     *
     * @param urgent whether the reserved ones may be taken, asked again at each {@link #wake}
     */
    synchronized @Nullable WalSegment next(long firstLsn, long salt, BooleanSupplier urgent)
            throws InterruptedException {
        while (!closed && !draining && free.size() <= (urgent.getAsBoolean() ? 0 : reserved)) {
            wait();
        }
        WalSegment s = free.poll();
        if (closed || s == null) {
            return null;
        }
        lastGeneration++;
        s.use(new WalSegmentFormat.Header(disk, segmentBytes, lastGeneration, salt, firstLsn));
        live.add(s);
        return s;
    }

    synchronized void wake() {
        notifyAll();
    }

    /** The newest LSN in segments that {@link #recycle} frees; 0 if it frees none. */
    synchronized long recycledBy(long trimLsn) {
        long newest = 0;
        boolean first = true;
        for (WalSegment s : live) {
            if (!first && s.firstLsn() - 1 <= trimLsn) {
                newest = s.firstLsn() - 1;
            }
            first = false;
        }
        return newest;
    }

    /** Frees the segments all of whose records are at or below the LSN. */
    synchronized void recycle(long trimLsn) {
        boolean freed = false;
        while (live.size() > 1) {
            WalSegment oldest = live.removeFirst();
            if (live.getFirst().firstLsn() - 1 > trimLsn) {
                live.addFirst(oldest);
                break;
            }
            oldest.use(null);
            free.add(oldest);
            freed = true;
        }
        if (freed) {
            notifyAll();
        }
    }

    synchronized int liveCount() {
        return live.size();
    }

    int count() {
        return all.size();
    }

    /** Segments that writes may fill. */
    int usable() {
        return all.size() - reserved;
    }

    @Override
    public void close() throws IOException {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        closeAll(all);
    }

    /** From now on nobody waits for a segment. */
    synchronized void drain() {
        draining = true;
        notifyAll();
    }

    /** Ends waiting, leaves the files open for readers. */
    synchronized void stop() {
        closed = true;
        notifyAll();
    }

    private static void closeAll(List<WalSegment> segments) throws IOException {
        for (WalSegment s : segments) {
            s.close();
        }
    }
}
