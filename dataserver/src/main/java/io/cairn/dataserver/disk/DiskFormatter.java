package io.cairn.dataserver.disk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out whether the parts of a disk belong together, and makes a disk where there is none. The
 * data file's superblock is written first, as FORMATTING, and last, as READY: between the two the
 * disk was never used, and formatting starts over. What it has made by then is told from parts of
 * another disk by an empty file {@code formatting-UUID}, the first in each directory and the last
 * to go. Used once by one thread.
 */
public final class DiskFormatter {
    /** The copy of the superblock in the WAL directory. */
    public static final String SUPERBLOCK = "superblock";

    private static final Logger LOG = LoggerFactory.getLogger(DiskFormatter.class);

    private final DiskConfig config;
    private final DeviceFiles files;

    public DiskFormatter(DiskConfig config, DeviceFiles files) {
        this.config = config;
        this.files = files;
    }

    /** Makes WAL and index of a new disk. */
    @FunctionalInterface
    public interface Maker {
        void make(Superblock superblock) throws IOException;
    }

    /**
     * Returns the superblock of a disk that is whole; formats one where nothing exists.
     *
     * @param known identity of the disk that was there at an earlier opening: then none is made;
     *     null if there was none
     */
    public Superblock openOrFormat(UUID cluster, @Nullable UUID known, Maker maker)
            throws IOException, DiskOpenException {
        boolean dataExists = Files.exists(config.data());
        boolean wal = hasEntries(config.wal());
        boolean index = hasEntries(config.index());
        if (dataExists) {
            try (DeviceFile device = files.open(config.data())) {
                ByteBuffer block = read(device);
                if (!SuperblockFormat.isBlank(block)) {
                    Superblock s = SuperblockFormat.decode(block, config.data().toString());
                    if (s.state() == Superblock.State.READY) {
                        return check(s, cluster, device.sizeBytes(), wal, index);
                    }
                    LOG.warn("{}: formatting was interrupted, starting over", config.data());
                    for (Path part : directories()) {
                        refuseUnmarked(part, s.disk());
                    }
                    for (Path part : directories()) {
                        clear(part, s.disk());
                    }
                    return format(device, cluster, maker);
                }
                refuseLeftovers(wal, index);
                refuseLost(known);
                return format(device, cluster, maker);
            }
        }
        refuseLeftovers(wal, index);
        refuseLost(known);
        if (config.capacityBytes() == 0) {
            throw new DiskOpenException(
                    config.data() + " does not exist and capacity is 0: nothing to make it of");
        }
        Path parent = config.data().toAbsolutePath().getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        long blocks = config.capacityBytes() / DataFile.BLOCK_BYTES;
        try (DeviceFile device = files.create(config.data(), blocks * DataFile.BLOCK_BYTES)) {
            if (parent != null) {
                files.forceDirectory(parent);
            }
            return format(device, cluster, maker);
        }
    }

    /** The superblock of a disk that was formatted. */
    public Superblock existing() throws IOException, DiskOpenException {
        if (!Files.exists(config.data())) {
            throw new DiskOpenException("no disk is at " + config.data());
        }
        try (DeviceFile device = files.open(config.data())) {
            Superblock s = SuperblockFormat.decode(read(device), config.data().toString());
            if (s.state() != Superblock.State.READY) {
                throw new DiskOpenException(config.data() + " is not formatted");
            }
            return s;
        }
    }

    /** The first block; zeros where the file is shorter. */
    private static ByteBuffer read(DeviceFile device) throws IOException {
        ByteBuffer block = ByteBuffer.allocateDirect(SuperblockFormat.BYTES);
        if (device.sizeBytes() >= SuperblockFormat.BYTES) {
            device.read(block, 0);
        }
        return block.clear();
    }

    private Superblock format(DeviceFile device, UUID cluster, Maker maker)
            throws IOException, DiskOpenException {
        Files.createDirectories(config.wal());
        Files.createDirectories(config.index());
        long capacity = device.sizeBytes();
        if (config.capacityBytes() > 0) {
            capacity = Math.min(capacity, config.capacityBytes());
        }
        capacity -= capacity % DataFile.BLOCK_BYTES;
        Superblock s =
                new Superblock(Superblock.State.FORMATTING, UUID.randomUUID(), cluster, capacity);
        write(device, s);
        for (Path part : directories()) {
            Files.createFile(mark(part, s.disk()));
            files.forceDirectory(part);
            refuseOthers(part, s.disk());
        }
        maker.make(s);
        try (DeviceFile copy =
                files.create(config.wal().resolve(SUPERBLOCK), SuperblockFormat.BYTES)) {
            write(copy, s.ready());
        }
        files.forceDirectory(config.wal());
        files.forceDirectory(config.index());
        forceParent(config.wal());
        forceParent(config.index());
        write(device, s.ready());
        removeMarks(s.disk());
        LOG.info("formatted {} as disk {} of {} bytes", config.data(), s.disk(), capacity);
        return s.ready();
    }

    private Superblock check(Superblock s, UUID cluster, long sizeBytes, boolean wal, boolean index)
            throws IOException, DiskOpenException {
        if (!s.cluster().equals(cluster)) {
            throw new DiskOpenException(
                    config.data()
                            + " belongs to cluster "
                            + s.cluster()
                            + ", this server to "
                            + cluster);
        }
        if (sizeBytes < s.capacityBytes()) {
            throw new DiskOpenException(
                    String.format(
                            "%s has %d bytes, it was formatted with %d",
                            config.data(), sizeBytes, s.capacityBytes()));
        }
        if (!wal || !index) {
            throw new DiskOpenException(
                    String.format(
                            "the %s of disk %s is gone (%s): mount its file system, or put it back;"
                                    + " %s",
                            wal ? "index" : "write-ahead log",
                            s.disk(),
                            wal ? config.index() : config.wal(),
                            DiskOpenException.KEEP_AS_IT_IS));
        }
        Superblock copy = readCopy();
        if (!copy.equals(s)) {
            throw new DiskOpenException(
                    String.format(
                            "%s is the write-ahead log of disk %s, %s is disk %s",
                            config.wal(), copy.disk(), config.data(), s.disk()));
        }
        removeMarks(s.disk());
        return s;
    }

    private Superblock readCopy() throws IOException, DiskOpenException {
        Path path = config.wal().resolve(SUPERBLOCK);
        ByteBuffer block = ByteBuffer.allocateDirect(SuperblockFormat.BYTES);
        try (DeviceFile device = files.open(path)) {
            device.read(block, 0);
        } catch (NoSuchFileException e) {
            throw new DiskOpenException(
                    String.format(
                            "%s is gone: %s is not complete; %s",
                            path, config.wal(), DiskOpenException.KEEP_AS_IT_IS),
                    e);
        }
        return SuperblockFormat.decode(block.clear(), path.toString());
    }

    private void refuseLeftovers(boolean wal, boolean index) throws DiskOpenException {
        if (wal || index) {
            throw new DiskOpenException(
                    String.format(
                            "%s is not formatted, but %s is not empty: a disk is not made of parts"
                                    + " of another. Mount the file system of the data file, or"
                                    + " correct the paths; a new disk has directories of its own",
                            config.data(), wal ? config.wal() : config.index()));
        }
    }

    private void refuseLost(@Nullable UUID known) throws DiskOpenException {
        if (known != null) {
            throw new DiskOpenException(
                    String.format(
                            "disk %s was at %s, and nothing is there now: mount its file system, or"
                                    + " correct the paths. A new disk does not take its place; %s",
                            known, config.data(), DiskOpenException.KEEP_AS_IT_IS));
        }
    }

    private void forceParent(Path path) throws IOException {
        Path parent = path.toAbsolutePath().getParent();
        if (parent != null) {
            files.forceDirectory(parent);
        }
    }

    private static void write(DeviceFile device, Superblock s) throws IOException {
        device.write(SuperblockFormat.encode(s), 0);
        device.force();
    }

    private static boolean hasEntries(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return false;
        }
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.findAny().isPresent();
        }
    }

    private List<Path> directories() {
        return List.of(config.wal(), config.index());
    }

    private static Path mark(Path directory, UUID disk) {
        return directory.resolve("formatting-" + disk);
    }

    private void removeMarks(UUID disk) throws IOException {
        for (Path part : directories()) {
            Files.deleteIfExists(mark(part, disk));
        }
    }

    /** Somebody may be making another disk in it, who looked when it was empty. */
    private static void refuseOthers(Path directory, UUID disk)
            throws IOException, DiskOpenException {
        try (Stream<Path> entries = Files.list(directory)) {
            if (entries.anyMatch(e -> !e.equals(mark(directory, disk)))) {
                Files.delete(mark(directory, disk));
                throw new DiskOpenException(
                        directory + " is not empty any more: each disk has directories of its own");
            }
        }
    }

    /** The configuration may have changed since. */
    private void refuseUnmarked(Path directory, UUID disk) throws IOException, DiskOpenException {
        if (hasEntries(directory) && !Files.exists(mark(directory, disk))) {
            throw new DiskOpenException(
                    String.format(
                            "formatting %s was interrupted, and what is in %s is not of it: correct"
                                    + " the paths; if it is nothing that is needed, delete it",
                            config.data(), directory));
        }
    }

    /** The mark goes last. */
    private void clear(Path directory, UUID disk) throws IOException {
        if (!Files.isDirectory(directory)) {
            return;
        }
        Path mark = mark(directory, disk);
        try (Stream<Path> entries = Files.list(directory)) {
            for (Path p : entries.filter(e -> !e.equals(mark)).toList()) {
                Files.delete(p);
            }
        }
        files.forceDirectory(directory);
        Files.deleteIfExists(mark);
        files.forceDirectory(directory);
    }
}
