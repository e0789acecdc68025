package io.cairn.dataserver.store;

import io.cairn.common.libc.FileSpace;
import io.cairn.dataserver.disk.BlockAllocator;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DiskConfig;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the file system keep space for the data file before it is needed, in slabs of whole regions
 * (see {@link BlockAllocator}), and lets the allocator give out only blocks that have it. So what
 * is acknowledged can be flushed though several data files share a file system that is smaller than
 * they are together: the kernel counts for all of them. Also watches the file system of the index,
 * which grows as it is used. Called by one thread at a time.
 */
final class SpaceKeeper {
    private static final Logger LOG = LoggerFactory.getLogger(SpaceKeeper.class);

    /** Of what the file system has left so much is kept ahead of need, and taken at once. */
    private static final int AHEAD_SHARE = 16;

    /** The most that is kept ahead of need, if a slab is not more. */
    private static final long MAX_AHEAD_BYTES = 256L << 20;

    /** Where the file system has so much, a share of it is expected to be had when it is needed. */
    private static final long PLENTY_BYTES = 512L << 20;

    private static final int EXPECTED_SHARE = 8;

    private static final long MAX_SLAB_BYTES = 1L << 30;
    private static final int SLABS = 64;

    /** Of what is kept of the data file, for its index beside it, whose blocks take up to 1/128. */
    private static final int INDEX_SHARE = 64;

    private static final int BLOCK = DataFile.BLOCK_BYTES;
    private static final long REGION_BYTES = (long) BlockAllocator.REGION_BLOCKS * BLOCK;

    private final DiskConfig config;
    private final DataFile data;
    private final BlockAllocator allocator;
    private final SpaceAccount space;
    private final int slabRegions;
    private @Nullable FileStore indexFileSystem;
    private boolean full;
    private boolean filledHoles;

    /** The file system keeps no space: what it has left is counted instead. */
    private volatile boolean counting;

    private int allBackedBelow;
    private @Nullable String countingWarning;
    private @Nullable String failure;
    private volatile List<String> warnings = List.of();
    private volatile long roomBytes;

    SpaceKeeper(DiskConfig config, DataFile data, BlockAllocator allocator, SpaceAccount space) {
        this.config = config;
        this.data = data;
        this.allocator = allocator;
        this.space = space;
        long slab = Math.min(MAX_SLAB_BYTES, data.blocks() * BLOCK / SLABS);
        slabRegions = (int) Math.max(1, slab / REGION_BYTES);
    }

    /**
     * At opening, when the allocator knows the blocks in use. Nothing on disk says which regions
     * are kept but the file's own block map, so they are asked for again: those in use, which fills
     * the holes of a data file that was made by a version that kept none, and then those that turn
     * out to have their space already.
     */
    void begin() throws IOException {
        if (data.roomBytes() == Long.MAX_VALUE) {
            allocator.back(0, allocator.regions());
        }
        keepUsed();
        keepOwn();
        step();
    }

    private void keepUsed() throws IOException {
        long missing = 0;
        int region = 0;
        while (region < allocator.regions() && !counting) {
            int end = region;
            while (end < allocator.regions()
                    && end - region < MAX_SLAB_BYTES / REGION_BYTES
                    && allocator.isInUse(end)
                    && !allocator.isBacked(end)) {
                end++;
            }
            if (end > region) {
                missing += keepUsed(region, end);
            }
            region = Math.max(end, region + 1);
        }
        if (missing > 0) {
            LOG.warn(
                    "{}: its file system has no room for the unused parts of {} MiB that are in"
                            + " use; what is deleted there makes no space until it has",
                    config.data(),
                    (missing * REGION_BYTES) >> 20);
        }
    }

    /** Number of regions from {@code first} to before {@code end} that there is no room for. */
    private int keepUsed(int first, int end) throws IOException {
        if (data.roomBytes() - MAX_SLAB_BYTES >= 2 * config.minimumFreeBytes()) {
            return keep(first, end - first) ? 0 : end - first;
        }
        int missing = 0;
        for (int r = first; r < end; r++) {
            missing += keepScarce(r) ? 0 : 1;
        }
        return missing;
    }

    /** Holes are not filled with the last of what the file system has. */
    private boolean keepScarce(int region) throws IOException {
        if (filledHoles && data.roomBytes() < config.minimumFreeBytes()) {
            return false;
        }
        long before = data.allocatedBytes();
        boolean kept = keep(region, 1);
        filledHoles |= data.allocatedBytes() > before;
        return kept;
    }

    /**
     * Regions that were kept when the disk was closed and have nothing yet: what is in the log may
     * need them, however full the file system is. They follow those in use.
     */
    private void keepOwn() throws IOException {
        boolean own = !counting;
        for (int r = firstUnbacked(); own && r >= 0 && !allocator.isInUse(r); r = firstUnbacked()) {
            long first = (long) r * BlockAllocator.REGION_BLOCKS;
            int blocks = allocator.regionBlocks(r);
            long before = data.allocatedBytes();
            own = data.reserve(first, blocks) == FileSpace.Outcome.DONE;
            own &= data.allocatedBytes() - before < (long) blocks * BLOCK / 2;
            if (own) {
                allocator.back(r, 1);
            } else {
                data.unreserve(first, blocks);
            }
        }
    }

    /**
     * A {@link #step} of the background. Where it fails, nothing is promised of what was not seen:
     * the disk serves what is kept already, then says that it is full, and {@code cairn status}
     * warns until a step succeeds.
     *
     * @throws IOException where the data file takes no more writes
     */
    void tryStep() throws IOException {
        try {
            step();
            if (failure != null) {
                LOG.info("{}: the space of its file systems is seen again", config.data());
                failed(null);
            }
        } catch (IOException | RuntimeException e) {
            if (data.isFenced()) {
                throw e;
            }
            space.growing(false, 0);
            space.expected(0);
            if (counting) {
                space.room(0);
            }
            if (failure == null) {
                LOG.warn("{}: the space of its file systems cannot be seen", config.data(), e);
            }
            failed(
                    "the space of the file systems of "
                            + config.data()
                            + " and its index cannot be seen or kept ("
                            + e
                            + "): the disk takes what it has space for already and is then full;"
                            + " look at the device and the kernel's log");
        }
    }

    /** Keeps more if less than what should be ahead is left; looks how full file systems are. */
    void step() throws IOException {
        watchIndex();
        full = false;
        long room = data.roomBytes();
        while (!counting && wanted(room)) {
            int region = firstUnbacked();
            if (region < 0 || !grow(region, room)) {
                break;
            }
            room = data.roomBytes();
        }
        roomBytes = room;
        if (counting) {
            space.room(Math.max(0, room - config.minimumFreeBytes()));
        }
        long more =
                full || counting
                        ? 0
                        : Math.min(grantable(room), allocator.unbackedBlocks() * BLOCK);
        space.growing(more > 0, ahead(room));
        space.expected(more < PLENTY_BYTES ? 0 : more / EXPECTED_SHARE);
    }

    /** What should be known of the disk's space, for the administrator. Any thread. */
    List<String> warnings() {
        return warnings;
    }

    /** Blocks not in use that can be had, as far as was seen when last looked. Any thread. */
    long obtainableBytes() {
        long free = allocator.freeBlocks() * BLOCK;
        return counting
                ? Math.min(free, roomBytes)
                : free + Math.min(grantable(roomBytes), allocator.unbackedBlocks() * BLOCK);
    }

    private boolean wanted(long room) {
        return space.unpromisedBlocks() * BLOCK < ahead(room);
    }

    /**
     * Twice what servers demand, who take off what they have in flight to the disk themselves: it
     * may be promised here already.
     */
    private long ahead(long room) {
        long share =
                Math.clamp(
                        grantable(room) / AHEAD_SHARE,
                        REGION_BYTES,
                        Math.max(MAX_AHEAD_BYTES, slabRegions * REGION_BYTES));
        return Math.max(2 * space.demandBytes(), share);
    }

    /** What may be taken of the file system: something is left for its own needs and the index. */
    private long grantable(long room) {
        if (room == Long.MAX_VALUE) {
            return room;
        }
        long kept = (data.blocks() - allocator.unbackedBlocks()) * BLOCK;
        long left = room - 2 * config.minimumFreeBytes() - kept / INDEX_SHARE;
        return left < REGION_BYTES && left < allocator.unbackedBlocks() * BLOCK
                ? 0
                : Math.max(0, left);
    }

    private int firstUnbacked() {
        while (allBackedBelow < allocator.regions() && allocator.isBacked(allBackedBelow)) {
            allBackedBelow++;
        }
        return allBackedBelow < allocator.regions() ? allBackedBelow : -1;
    }

    /** A slab, or less when little is left: others who take at the same time find the rest. */
    private boolean grow(int region, long room) throws IOException {
        long grantable = grantable(room);
        if (grantable == 0) {
            full = true;
            return false;
        }
        int most = Math.clamp(grantable / AHEAD_SHARE / REGION_BYTES, 1, slabRegions);
        int count = 1;
        while (count < most
                && region + count < allocator.regions()
                && !allocator.isBacked(region + count)) {
            count++;
        }
        return keep(region, count);
    }

    /** Whether the regions have their space now. */
    private boolean keep(int region, int count) throws IOException {
        long first = (long) region * BlockAllocator.REGION_BLOCKS;
        long blocks = 0;
        boolean unused = true;
        for (int r = region; r < region + count; r++) {
            blocks += allocator.regionBlocks(r);
            unused &= !allocator.isInUse(r);
        }
        long before = data.allocatedBytes();
        FileSpace.Outcome outcome = data.reserve(first, blocks);
        if (outcome == FileSpace.Outcome.UNSUPPORTED) {
            count();
            return true;
        }
        boolean kept = outcome == FileSpace.Outcome.DONE;
        if (unused && (!kept || data.roomBytes() < config.minimumFreeBytes())) {
            // Others took at the same time, or a part was kept: the file system needs it more.
            data.unreserve(first, blocks);
            kept = false;
        }
        full = !kept;
        if (kept) {
            if (data.allocatedBytes() > before) {
                data.force(); // or a power cut could give it to somebody else
            }
            allocator.back(region, count);
        }
        return kept;
    }

    private void count() {
        counting = true;
        allocator.back(0, allocator.regions());
        String warning =
                "the file system of "
                        + config.data()
                        + " cannot reserve space (fallocate): what other programs and data servers"
                        + " take of it is only seen afterwards, and a disk may fail for want of"
                        + " space; use ext4 or XFS, or a file system of its own";
        countingWarning = warning;
        warn();
        LOG.warn("Disk: {}", warning);
    }

    private void failed(@Nullable String warning) {
        failure = warning;
        warn();
    }

    private void warn() {
        warnings = Stream.of(countingWarning, failure).filter(Objects::nonNull).toList();
    }

    private void watchIndex() throws IOException {
        FileStore store = indexFileSystem;
        if (store == null) {
            store = Files.getFileStore(config.index());
            indexFileSystem = store;
        }
        space.fileSystemFull(
                store.getUsableSpace() - space.promisedIndexBytes() < config.minimumFreeBytes());
    }
}
