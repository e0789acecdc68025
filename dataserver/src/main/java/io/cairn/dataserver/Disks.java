package io.cairn.dataserver;

import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.time.NanoClock;
import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.disk.DeviceClasses;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.disk.HungCallCheck;
import io.cairn.dataserver.disk.KnownDisks;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.pg.ConfiguredDisk;
import io.cairn.dataserver.pg.DiskPhase;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.store.DiskStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The disks of a server. One that does not open, or fails, is out and the others serve; the server
 * only ends with its last disk. Disks report their failures on any thread.
 */
final class Disks implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Disks.class);

    private static final String RESTART =
            "the others serve; when it is mended, restart this data server to have it back";

    private static final String AGAIN =
            "take it out of the configuration, or delete its files (data, wal and index) to have it"
                    + " formatted and registered as a new disk, and restart this data server";

    private final UUID cluster;
    private final DiskOpener opener;
    private final Meters meters;
    private final KnownDisks known;
    private final List<ConfiguredDisk> all = new CopyOnWriteArrayList<>();
    private final Set<UUID> opened = new HashSet<>();
    private final FatalHandler nothingLeft;
    private final HangWatch watch = new HangWatch();
    private volatile @Nullable Consumer<LocalDisk> listener;

    private Disks(
            UUID cluster,
            DiskOpener opener,
            Meters meters,
            KnownDisks known,
            FatalHandler nothingLeft) {
        this.cluster = cluster;
        this.opener = opener;
        this.meters = meters;
        this.known = known;
        this.nothingLeft = nothingLeft;
    }

    /**
     * Opens all that open.
     *
     * @param meters of the calls to them
     * @param nothingLeft told when the last disk has failed
     * @throws DataServerException when none opened
     */
    static Disks open(
            DataServerConfig config,
            UUID cluster,
            DiskOpener opener,
            Meters meters,
            FatalHandler nothingLeft)
            throws DataServerException {
        Disks disks = new Disks(cluster, opener, meters, known(config), nothingLeft);
        Deque<Opening> openings = new ArrayDeque<>();
        try {
            config.disk().forEach(table -> disks.all.add(disks.configured(table)));
            disks.beginToOpen(config.disk(), openings);
            @Nullable DataServerException first = null;
            for (Opening o = openings.poll(); o != null; o = openings.poll()) {
                try {
                    disks.opened(o);
                } catch (DataServerException e) {
                    first = first == null ? e : first;
                    disks.didNotOpen(o.disk(), e);
                }
            }
            if (!disks.anyServes()) {
                throw first != null ? first : new DataServerException("every disk failed");
            }
            disks.watch.start();
            return disks;
        } catch (DataServerException | RuntimeException e) {
            disks.close();
            openings.forEach(Opening::discard);
            throw e;
        }
    }

    private static KnownDisks known(DataServerConfig config) throws DataServerException {
        try {
            return KnownDisks.in(config.stateDir());
        } catch (DiskOpenException e) {
            throw new DataServerException(String.valueOf(e.getMessage()), e);
        }
    }

    private ConfiguredDisk configured(DataServerConfig.DiskTable table) {
        return new ConfiguredDisk(
                table.data(),
                known.at(table.data()),
                new DiskCalls(meters, Integer.toString(all.size()), NanoClock.MONOTONIC));
    }

    /** Whether the disk with this data file, by whatever name, is one of these, opened or not. */
    boolean isConfigured(Path data) {
        return all.stream().anyMatch(d -> d.data().equals(data))
                || all.stream()
                        .filter(d -> d.phase() != DiskPhase.OUT) // it may hang
                        .anyMatch(d -> isSame(d.data(), data));
    }

    private static boolean isSame(Path one, Path other) {
        try {
            return Files.isSameFile(one, other);
        } catch (IOException e) {
            LOG.debug("{} and {} are not the same file", one, other, e);
            return false;
        }
    }

    /**
     * Opens one more, or makes it; blocks. One thread.
     *
     * @throws DataServerException when it does not open: it is none of these then
     */
    ConfiguredDisk add(DataServerConfig.DiskTable table) throws DataServerException {
        ConfiguredDisk disk = configured(table);
        Opening opening = opening(disk, table);
        Thread.ofPlatform().name("disk-open-" + all.size()).daemon().start(() -> open(opening));
        try {
            opened(opening);
        } catch (DataServerException | RuntimeException e) {
            @Nullable LocalDisk local = disk.disk();
            if (local != null) {
                opened.remove(local.store().uuid());
                local.close();
            }
            throw e;
        }
        all.add(disk);
        return disk;
    }

    /** The store of a disk, or why there is none, when it has been opened. */
    private record Opening(
            ConfiguredDisk disk,
            FatalHandler failed,
            CompletableFuture<DiskStore> store,
            DataServerConfig.DiskTable table) {
        Duration hungAfter() {
            return table.hungAfter();
        }

        /** Waits for it, unless it hangs. */
        DiskStore await() throws DataServerException {
            HungCallCheck check = new HungCallCheck(disk.calls(), hungAfter(), System.nanoTime());
            while (true) {
                try {
                    return store.get(HangWatch.LOOK_MILLIS, TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    String hung = check.look(System.nanoTime());
                    if (hung != null) {
                        var _ = store.thenAccept(DiskStore::close); // should it open after all
                        throw new DataServerException(disk.data() + " hangs: " + hung, e);
                    }
                } catch (ExecutionException e) {
                    if (e.getCause() instanceof DataServerException why) {
                        throw why;
                    }
                    throw new CompletionException(e.getCause());
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new DataServerException("interrupted", e);
                }
            }
        }

        /** The server does not start: closes the disk when it has been opened. */
        void discard() {
            try {
                await().close();
            } catch (DataServerException | RuntimeException e) {
                LOG.error("Disk {} does not open either", disk.data(), e);
            }
        }
    }

    /**
     * Opens the disks that were there at an earlier start, each on a thread of its own: reading log
     * and index takes long, and each has its own device. Then new disks are made, one after the
     * other: of two that share a part one is made.
     */
    private void beginToOpen(List<DataServerConfig.DiskTable> tables, Deque<Opening> openings) {
        List<Runnable> later = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            ConfiguredDisk disk = all.get(i);
            Opening opening = opening(disk, tables.get(i));
            openings.add(opening);
            Runnable open = () -> open(opening);
            if (disk.known() == null) {
                later.add(open);
            } else {
                Thread.ofPlatform().name("disk-open-" + i).daemon().start(open);
            }
        }
        later.forEach(Runnable::run);
    }

    private Opening opening(ConfiguredDisk disk, DataServerConfig.DiskTable table) {
        return new Opening(
                disk, (what, cause) -> failed(disk, what, cause), new CompletableFuture<>(), table);
    }

    private void open(Opening opening) {
        ConfiguredDisk disk = opening.disk();
        try {
            opening.store()
                    .complete(
                            opener.open(
                                    new DiskOpener.Wanted(
                                            opening.table(),
                                            cluster,
                                            disk.known(),
                                            disk.calls(),
                                            opening.failed())));
        } catch (Throwable e) { // an Error too: who waits for the disk must hear of it
            opening.store().completeExceptionally(e);
        }
    }

    /** Waits for the disk. */
    private void opened(Opening opening) throws DataServerException {
        ConfiguredDisk disk = opening.disk();
        LocalDisk local = local(opening);
        UUID uuid = local.store().uuid();
        if (!opened.add(uuid)) {
            local.close();
            throw new DataServerException(
                    "%s is disk %s, as is one before it: each disk is configured once"
                            .formatted(disk.data(), uuid));
        }
        if (!disk.opened(local)) {
            local.markOut();
        }
        watch.add(local, disk.calls(), opening.hungAfter());
        try {
            known.opened(disk.data(), uuid);
        } catch (DiskOpenException e) {
            throw new DataServerException(String.valueOf(e.getMessage()), e);
        }
    }

    private static LocalDisk local(Opening opening) throws DataServerException {
        DiskStore store = opening.await();
        try {
            return new LocalDisk(store, deviceClass(opening.table()), opening.failed());
        } catch (IndexDamagedException e) {
            store.close();
            throw new DataServerException(opening.disk().data() + ": " + e.getMessage(), e);
        }
    }

    private static DeviceClass deviceClass(DataServerConfig.DiskTable table) {
        return switch (table.deviceClass()) {
            case AUTO -> DeviceClasses.of(table.data());
            case SSD -> DeviceClass.DEVICE_CLASS_SSD;
            case HDD -> DeviceClass.DEVICE_CLASS_HDD;
        };
    }

    private void didNotOpen(ConfiguredDisk disk, DataServerException e) {
        disk.out(String.valueOf(e.getMessage()), RESTART);
        LOG.error("Disk {} does not open; {}", disk.data(), RESTART, e);
    }

    /** On a thread of the disk, or one that asked it. */
    private void failed(ConfiguredDisk disk, String what, Throwable cause) {
        String why = what + ": " + cause.getMessage();
        if (!takeOut(disk, why, "check the device (kernel log, SMART); " + RESTART, cause)) {
            return;
        }
        if (!anyServes()) {
            nothingLeft.fatal(why + "; no disk is left", cause);
            return;
        }
        tell(disk);
    }

    /**
     * The cluster has removed it, and takes nothing that it holds. Any thread.
     *
     * @throws DataServerException when it is the last disk
     */
    void removed(ConfiguredDisk disk) throws DataServerException {
        DataServerException refusal =
                new DataServerException(disk.data() + " was removed from the cluster; " + AGAIN);
        if (!takeOut(disk, "it was removed from the cluster", AGAIN, refusal)) {
            return;
        }
        if (!anyServes()) {
            throw refusal;
        }
        tell(disk);
    }

    /** False if it is out already. */
    private boolean takeOut(ConfiguredDisk disk, String why, String next, Throwable cause) {
        if (!disk.out(why, next)) {
            LOG.debug("Disk {} is out already", disk.data(), cause);
            return false;
        }
        @Nullable LocalDisk local = disk.disk();
        if (local != null) {
            local.markOut();
        }
        LOG.error("Disk {} is out: {}; {}", disk.data(), why, next, cause);
        return true;
    }

    private void tell(ConfiguredDisk disk) {
        @Nullable LocalDisk local = disk.disk();
        @Nullable Consumer<LocalDisk> told = listener;
        if (local != null && told != null) {
            told.accept(local);
        }
    }

    private boolean anyServes() {
        return all.stream().anyMatch(d -> d.phase() != DiskPhase.OUT);
    }

    /** Sets who is told when one fails, and tells of those that have failed by now. */
    void onFailure(Consumer<LocalDisk> told) {
        listener = told;
        opened().stream().filter(LocalDisk::isOut).forEach(told);
    }

    /** In the order of the configuration. */
    List<ConfiguredDisk> all() {
        return all;
    }

    /** Those that opened, also if they failed since, in the order of the configuration. */
    List<LocalDisk> opened() {
        return ConfiguredDisk.opened(all);
    }

    @Override
    public void close() {
        watch.close();
        opened().forEach(LocalDisk::close);
    }
}
