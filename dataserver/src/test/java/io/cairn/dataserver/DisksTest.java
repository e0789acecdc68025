package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.AddDisksReply;
import io.cairn.common.proto.AddDisksRequest;
import io.cairn.common.proto.AddedDisk;
import io.cairn.dataserver.disk.KnownDisks;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.pg.ConfiguredDisk;
import io.cairn.dataserver.store.DiskStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DisksTest {
    private static final int DISKS = 3;

    @TempDir Path directory;
    private final List<DataServerConfig.DiskTable> tables = new ArrayList<>();
    private final Map<Path, MemoryDisk> devices = new ConcurrentHashMap<>();

    @BeforeEach
    void configure() {
        for (int i = 0; i < DISKS; i++) {
            DataServerConfig.DiskTable table = TestCluster.disk(directory.resolve("disk-" + i), 64);
            tables.add(table);
            devices.put(table.data(), new MemoryDisk());
        }
    }

    /** Each waits until all are being opened. */
    @Test
    void disksThatWereThereBeforeAreOpenedTogether() throws Exception {
        remember();
        CyclicBarrier all = new CyclicBarrier(DISKS);
        DiskOpener together =
                wanted -> {
                    try {
                        all.await(30, TimeUnit.SECONDS);
                    } catch (Exception e) {
                        throw new DataServerException("alone", e);
                    }
                    return store(wanted);
                };
        try (Disks disks = open(together)) {
            assertThat(disks.all())
                    .extracting(ConfiguredDisk::data)
                    .containsExactlyElementsOf(
                            tables.stream().map(DataServerConfig.DiskTable::data).toList());
            assertThat(disks.opened()).hasSize(DISKS);
        }
    }

    @Test
    void newDisksAreMadeOneAfterTheOther() throws Exception {
        AtomicInteger atOnce = new AtomicInteger();
        DiskOpener counting =
                wanted -> {
                    assertThat(atOnce.incrementAndGet()).isOne();
                    DiskStore store = store(wanted);
                    atOnce.decrementAndGet();
                    return store;
                };
        try (Disks disks = open(counting)) {
            assertThat(disks.opened()).hasSize(DISKS);
        }
        KnownDisks known = KnownDisks.in(directory);
        assertThat(tables).allSatisfy(t -> assertThat(known.at(t.data())).isNotNull());
    }

    /** What opens beside a disk by which the start ends is not left open. */
    @Test
    void aStartThatEndsClosesEveryDisk() throws Exception {
        remember();
        Path first = tables.getFirst().data();
        AtomicInteger opened = new AtomicInteger();
        DiskOpener broken =
                wanted -> {
                    if (wanted.table().data().equals(first)) {
                        throw new IllegalStateException("broken");
                    }
                    opened.incrementAndGet();
                    return store(wanted);
                };
        assertThatThrownBy(() -> open(broken)).hasRootCauseMessage("broken");
        assertThat(opened).hasValue(DISKS - 1);
        devices.values().forEach(d -> d.open().close()); // refused while one is open
    }

    @Test
    void oneMoreIsOpenedWhileTheOthersServe() throws Exception {
        DataServerConfig.DiskTable more = tables.removeLast();
        try (Disks disks = open(this::store)) {
            assertThat(disks.isConfigured(more.data())).isFalse();
            ConfiguredDisk added = disks.add(more);
            assertThat(disks.all()).last().isSameAs(added);
            assertThat(disks.opened()).last().isSameAs(added.disk());
            assertThat(KnownDisks.in(directory).at(more.data()))
                    .isEqualTo(disks.opened().getLast().store().uuid());
        }
    }

    @Test
    void oneThatDoesNotOpenIsNotAdded() throws Exception {
        DataServerConfig.DiskTable more = tables.removeLast();
        DiskOpener refusing =
                wanted -> {
                    if (wanted.table().equals(more)) {
                        throw new DataServerException("it is not mounted");
                    }
                    return store(wanted);
                };
        try (Disks disks = open(refusing)) {
            assertThatThrownBy(() -> disks.add(more)).hasMessage("it is not mounted");
            assertThat(disks.all()).hasSize(DISKS - 1);
            assertThat(disks.isConfigured(more.data())).isFalse();
        }
    }

    @Test
    void oneByAnotherNameIsNotOneMore() throws Exception {
        Path data = tables.getFirst().data();
        Files.createDirectories(data.getParent());
        Files.createFile(data);
        Path link = Files.createSymbolicLink(directory.resolve("link"), data.getParent());
        try (Disks disks = open(this::store)) {
            assertThat(disks.isConfigured(link.resolve(data.getFileName()))).isTrue();
            assertThat(disks.isConfigured(link)).isFalse();
        }
    }

    /** One of the new ones breaks in a way that nobody expected. */
    @Test
    void disksAreRegisteredWhateverBecomesOfOthers() throws Exception {
        DataServerConfig.DiskTable broken = tables.get(1);
        List<DataServerConfig.DiskTable> some = List.of(tables.getFirst());
        DiskOpener opener =
                wanted -> {
                    if (wanted.table().equals(broken)) {
                        throw new IllegalStateException("broken");
                    }
                    return store(wanted);
                };
        try (Disks disks = open(opener, some)) {
            disks.opened().getFirst().registered(1);
            List<ConfiguredDisk> told = new ArrayList<>();
            AtomicInteger rounds = new AtomicInteger();
            DiskAdditions additions =
                    new DiskAdditions(
                            () -> TestCluster.config(directory, List.of(), tables),
                            disks,
                            new DiskAdditions.Host() {
                                @Override
                                public void opened(ConfiguredDisk disk) {
                                    told.add(disk);
                                }

                                /** The first time the metadata service does not take it. */
                                @Override
                                public CompletableFuture<Void> register() {
                                    if (rounds.incrementAndGet() == 1) {
                                        return CompletableFuture.failedFuture(
                                                new IOException("not now"));
                                    }
                                    disks.opened().getLast().registered(3);
                                    return CompletableFuture.completedFuture(null);
                                }
                            });
            AddDisksReply first = round(additions);
            assertThat(told).hasSize(1);
            assertThat(failures(first)).hasSize(2).element(0).asString().endsWith(": broken");
            assertThat(failures(first)).element(1).isEqualTo("not now");
            AddDisksReply second = round(additions);
            assertThat(failures(second)).hasSize(2).element(1).isEqualTo("");
            assertThat(second.getDisks(1).getDisk()).isEqualTo(3);
            assertThat(told).hasSize(1);
        }
    }

    private static List<String> failures(AddDisksReply reply) {
        return reply.getDisksList().stream().map(AddedDisk::getFailure).toList();
    }

    private static AddDisksReply round(DiskAdditions additions) {
        additions.answer(AddDisksRequest.newBuilder().setBegin(true).build());
        return await().until(
                        () -> additions.answer(AddDisksRequest.getDefaultInstance()),
                        reply -> !reply.getRunning());
    }

    private Disks open(DiskOpener opener) throws DataServerException {
        return open(opener, tables);
    }

    private Disks open(DiskOpener opener, List<DataServerConfig.DiskTable> some)
            throws DataServerException {
        DataServerConfig config = TestCluster.config(directory, List.of(), some);
        return Disks.open(config, new UUID(1, 2), opener, Meters.unpublished(), (what, e) -> {});
    }

    private DiskStore store(DiskOpener.Wanted wanted) {
        return Objects.requireNonNull(devices.get(wanted.table().data())).open();
    }

    private void remember() throws Exception {
        KnownDisks known = KnownDisks.in(directory);
        for (DataServerConfig.DiskTable t : tables) {
            known.opened(t.data(), UUID.randomUUID());
        }
    }
}
