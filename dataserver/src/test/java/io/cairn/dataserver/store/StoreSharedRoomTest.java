package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.dataserver.disk.FaultDevices;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Disks whose data files lie on one file system and are together larger: what was admitted can be
 * flushed, the rest is refused, and freed space is used again.
 */
class StoreSharedRoomTest {
    private static final int PAGE = 4096;
    private static final long MIB = 1 << 20;
    private static final int REGION = 16 << 20;

    @TempDir Path directory;

    /** A store and what was written to it; inode by inode, one chunk each. */
    private static final class Writer implements AutoCloseable {
        private final StoreHarness h;
        private final List<byte[]> written = new ArrayList<>();
        private long sequence;

        Writer(StoreHarness harness) throws Exception {
            h = harness;
            h.open();
        }

        /** False if the disk does not admit it. */
        boolean write(int length) throws IOException {
            if (h.store().admissibleBytes() < length + 2 * PAGE) {
                h.store().keeper().tryStep(); // as its thread does all the time
                if (h.store().admissibleBytes() < length + 2 * PAGE) {
                    return false;
                }
            }
            byte[] payload = new byte[length];
            new Random(written.size()).nextBytes(payload);
            written.add(payload);
            append(
                    Ops.write(
                            0, h.epoch(), ++sequence, written.size(), 0, 0, payload, 0, List.of()),
                    payload);
            if (written.size() % 16 == 0) {
                flush();
            }
            return true;
        }

        private void append(PgLogEntry e, byte[] payload) {
            h.append(0, e, e.op().inode(), 0, payload, 0);
        }

        void flush() {
            h.awaitDurable();
            h.commitAll();
            h.store().flushThread().flushAll();
            sequence = h.model(0).last();
            assertThat(h.fatal).isEmpty();
        }

        void check() throws Exception {
            for (int i = 0; i < written.size(); i++) {
                byte[] bytes = written.get(i);
                assertThat(StoreHarness.read(h.store(), 0, i + 1, 0, 0, bytes.length))
                        .as("inode %d", i + 1)
                        .isEqualTo(bytes);
            }
            DiskInvariants.check(h.store());
        }

        void restart() throws Exception {
            reopen();
            check();
        }

        void reopen() throws Exception {
            h.crash(true);
            h.fatal.clear(); // the power was off
            h.open();
            h.adoptRecovered();
            sequence = h.model(0).last();
        }

        void deleteHalf() {
            for (int i = 0; i < written.size() / 2; i++) {
                append(Ops.delete(0, h.epoch(), ++sequence, i + 1), new byte[0]);
                written.set(i, new byte[0]);
            }
            flush();
        }

        long keptBytes() {
            return h.store().allocator().blocks() * PAGE
                    - h.store().allocator().unbackedBlocks() * PAGE;
        }

        @Override
        public void close() {
            h.close();
        }
    }

    private Writer writer(String name, long capacity, FaultDevices.Room room) throws Exception {
        Path place = directory.resolve(name);
        Files.createDirectories(place);
        return new Writer(StoreHarness.inRoom(place, 1, capacity, room));
    }

    @Test
    void disksThatShareAFileSystemPromiseTogetherWhatItHas() throws Exception {
        FaultDevices.Room room = new FaultDevices.Room(70 * MIB);
        try (Writer a = writer("a", 48 * MIB, room);
                Writer b = writer("b", 48 * MIB, room)) {
            boolean more = true;
            while (more) {
                boolean inA = a.write(28 << 10) || a.write(PAGE);
                boolean inB = b.write(28 << 10) || b.write(PAGE);
                more = inA || inB;
            }
            a.flush();
            b.flush();
            assertThat(a.written.size()).isGreaterThan(400);
            assertThat(b.written.size()).isGreaterThan(400);
            a.check();
            b.check();
            a.restart();
            b.restart();

            a.deleteHalf();
            assertThat(a.write(28 << 10)).as("deleting makes space").isTrue();
            a.flush();
            a.restart();
        }
    }

    @Test
    void spaceIsKeptAheadOfNeedAndNotAllAtOnce() throws Exception {
        FaultDevices.Room room = new FaultDevices.Room(128 * MIB);
        try (Writer a = writer("a", 96 * MIB, room)) {
            long kept = a.keptBytes();
            assertThat(kept).isBetween((long) REGION, 48 * MIB);
            assertThat(a.h.store().usage().freeBytes()).isGreaterThan(kept);
            while (a.keptBytes() == kept) {
                assertThat(a.write(28 << 10)).isTrue();
                a.h.store().keeper().step();
            }
            assertThat(a.h.store().admissibleBytes()).isGreaterThan(8 * MIB);
            a.flush();
            a.restart();
        }
    }

    @Test
    void whatServersDemandIsKeptAheadUntilTheRoomIsUsedUp() throws Exception {
        FaultDevices.Room room = new FaultDevices.Room(128 * MIB);
        long demand = 34 * MIB;
        try (Writer a = writer("a", 192 * MIB, room)) {
            a.h.store().keepAhead(demand);
            a.h.store().keeper().step();
            assertThat(a.h.store().isGrowing())
                    .as("it has what is demanded: who wants more waits for nothing")
                    .isFalse();
            boolean grew = false;
            while (room.leftBytes() >= 2 * REGION) {
                assertThat(a.h.store().admissibleBytes()).isGreaterThanOrEqualTo(demand);
                assertThat(a.write(28 << 10)).isTrue();
                grew |= a.h.store().isGrowing();
                a.h.store().keeper().step();
            }
            assertThat(grew).isTrue();
            assertThat(a.h.store().isGrowing()).as("there is no more").isFalse();
            a.flush();
            a.check();
        }
    }

    /** Regions that are kept and have nothing yet are not in the index. */
    @Test
    void whatIsInTheLogFindsItsSpaceAfterARestartOnAFullFileSystem() throws Exception {
        FaultDevices.Room room = new FaultDevices.Room(128 * MIB);
        try (Writer a = writer("a", 96 * MIB, room)) {
            while (a.keptBytes() < 3L * REGION) {
                assertThat(a.write(28 << 10)).isTrue();
                a.h.store().keeper().step();
            }
            a.flush();
            long kept = a.keptBytes();
            long little = 256 << 10; // for what is not the data file
            room.leave(little);
            for (int i = 0; i < 20; i++) {
                assertThat(a.write(PAGE)).isTrue();
            }
            a.h.awaitDurable();
            a.reopen();
            assertThat(a.keptBytes()).isEqualTo(kept);
            a.flush();
            assertThat(a.write(28 << 10)).isTrue();
            a.flush();
            a.check();
            assertThat(room.leftBytes()).isLessThanOrEqualTo(little);
        }
    }

    @Test
    void whatOthersTakeOfTheFileSystemIsNotPromised() throws Exception {
        FaultDevices.Room room = new FaultDevices.Room(128 * MIB);
        try (Writer a = writer("a", 96 * MIB, room)) {
            assertThat(a.write(28 << 10)).isTrue();
            room.leave(2 * MIB);
            while (a.write(28 << 10)) {
                assertThat(a.keptBytes()).isLessThan(64 * MIB);
            }
            a.flush();
            assertThat(room.leftBytes()).as("not taken").isEqualTo(2 * MIB);
            a.check();
            room.leave(64 * MIB);
            assertThat(a.write(28 << 10)).as("there is room again").isTrue();
        }
    }

    /** As one was made that kept no space: what it has in use lies among holes. */
    @Test
    void aSparseDataFileOfAnEarlierVersionIsFilledOrUsedAsItIs() throws Exception {
        FaultDevices.Room room = new FaultDevices.Room(128 * MIB);
        try (Writer a = writer("a", 96 * MIB, room)) {
            for (int i = 0; i < 100; i++) {
                assertThat(a.write(28 << 10)).isTrue();
            }
            a.flush();
            a.h.shutDown();
            a.h.devices.makeSparse(a.h.config.data());
            room.leave(MIB);
            a.h.open();
            a.h.adoptRecovered();
            a.sequence = a.h.model(0).last();
            assertThat(a.write(PAGE)).as("no room for its holes").isFalse();
            a.check();
            a.deleteHalf();
            room.leave(64 * MIB);
            assertThat(a.write(PAGE)).isTrue();
            a.flush();
            a.restart();
        }
    }

    @Test
    void whatCannotBeSeenIsNotPromised() throws Exception {
        FaultDevices.Room room = new FaultDevices.Room(128 * MIB);
        try (Writer a = writer("a", 96 * MIB, room)) {
            long kept = a.keptBytes();
            assertThat(a.write(28 << 10)).isTrue();
            room.fail(new IOException("Input/output error"));
            while (a.write(28 << 10)) {
                assertThat(a.keptBytes()).isEqualTo(kept);
            }
            assertThat(a.h.store().isGrowing()).as("worth a wait").isFalse();
            assertThat(a.h.store().warnings())
                    .singleElement()
                    .asString()
                    .contains("cannot be seen or kept", "Input/output error");
            a.flush();
            a.check();

            room.fail(null);
            a.h.store().keeper().tryStep();
            assertThat(a.write(28 << 10)).as("seen again").isTrue();
            assertThat(a.h.store().warnings()).isEmpty();
            a.flush();
        }
    }

    /**
     * A sync that is interrupted closes the file for everybody: then the disk would have failed.
     */
    @Test
    void closingWaitsForTheSyncOfSpaceThatIsBeingKept() throws Exception {
        Path place = Files.createDirectories(directory.resolve("a"));
        StoreHarness h = StoreHarness.inRoom(place, 1, 96 * MIB, new FaultDevices.Room(128 * MIB));
        h.open(true);
        h.devices.holdForcesBelow(h.config.data(), "-space");
        byte[] payload = new byte[28 << 10];
        for (long sequence = 1; h.devices.heldForces() == 0; sequence++) {
            PgLogEntry write =
                    Ops.write(0, h.epoch(), sequence, sequence, 0, 0, payload, 0, List.of());
            h.append(0, write, sequence, 0, payload, 0); // not committed: nothing is flushed
        }

        Thread closing = Thread.ofPlatform().start(h.store()::close);
        await().until(
                        () -> closing.getState(),
                        state -> state.name().matches(".*WAITING|TERMINATED"));
        h.devices.holdForcesBelow(null);
        closing.join();

        assertThat(h.fatal).isEmpty();
        h.open();
        h.close();
    }

    @Test
    void whereNoSpaceCanBeKeptItIsCountedAndSaid() throws Exception {
        FaultDevices.Room room = new FaultDevices.Room(24 * MIB);
        try (Writer a = writer("a", 96 * MIB, room)) {
            assertThat(a.h.store().warnings()).isEmpty();
        }
        Path place = Files.createDirectories(directory.resolve("b"));
        StoreHarness h = StoreHarness.inRoom(place, 1, 96 * MIB, new FaultDevices.Room(24 * MIB));
        h.devices.cannotReserve();
        try (Writer b = new Writer(h)) {
            assertThat(h.store().warnings()).singleElement().asString().contains("fallocate");
            assertThat(h.store().usage().freeBytes()).isLessThan(24 * MIB);
            while (b.write(28 << 10)) {
                h.store().keeper().step();
            }
            b.flush();
            assertThat(b.written.size()).isGreaterThan(400);
            b.check();
        }
    }
}
