package io.cairn.dataserver.wal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.seed.TestSeed;
import io.cairn.dataserver.disk.DataFile;
import io.cairn.dataserver.disk.DeviceFile;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.FatalHandler;
import io.cairn.dataserver.wal.RecordedDevices.Event;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The power is cut at every record's beginning and end, at several places inside of every record,
 * and at every sector of everything that a log writes, with three choices each time of what reached
 * the device. Every time all that was acknowledged comes back as it was logged, nothing else does,
 * and the log goes on. {@code -Dcairn.test.seed} repeats a run.
 */
class WalPowerCutTest {
    private static final UUID DISK = new UUID(5, 6);
    private static final int SEGMENTS = 10;
    private static final int SEGMENT_BYTES = 16 << 10;

    /** Some are used twice. */
    private static final int SEGMENT_USES = SEGMENTS + 3;

    private static final int SECTOR = 512;
    private static final FatalHandler FATAL =
            (what, cause) -> {
                throw new AssertionError(what, cause);
            };

    private final long seed = TestSeed.of("WalPowerCutTest");
    private final Random random = new Random(seed);
    private final RecordedDevices devices = new RecordedDevices();
    private final LogHistory history = new LogHistory(random);

    @TempDir Path directory;

    /** Which of the writes in flight reached the device. */
    private enum Survival {
        /** Those before, and the beginning of the last. */
        IN_ORDER,
        /** Only the end of the last. */
        REVERSED,
        /** Any sectors of all; of the last only before the cut. */
        SCATTERED
    }

    @Test
    void atEveryRecordBoundaryAndInsideEveryRecord() throws Exception {
        Map<Path, byte[]> empty = record();
        int cuts = cutEverywhere(empty, false);
        System.out.printf(
                "WalPowerCutTest: %d records, %d power cuts, -Dcairn.test.seed=%d%n",
                history.last(), cuts, seed);
    }

    /** The proof that this test can fail: syncs that leave everything to luck. */
    @Test
    void noticesADeviceThatDoesNotSync() throws Exception {
        Map<Path, byte[]> empty = record();
        assertThatThrownBy(() -> cutEverywhere(empty, true)).isInstanceOf(AssertionError.class);
    }

    /** Fills the log, some segments more than once; returns what the devices held before. */
    private Map<Path, byte[]> record() throws Exception {
        Wal.create(devices, directory, SEGMENTS, SEGMENT_BYTES);
        Map<Path, byte[]> empty = devices.contents();
        devices.begin();
        try (Wal wal = open(devices, 0, history.new Comparison(0))) {
            for (int round = 1; segmentUses() < SEGMENT_USES; round++) {
                int records = 1 + random.nextInt(7);
                devices.whileWritesWait(() -> {
                    for (int i = 0; i < records; i++) {
                        history.append(wal, lsn -> devices.note(new Event.Acknowledged(lsn)));
                    }
                });
                await(() -> wal.syncedLsn() == history.last());
                if (round % 3 == 0) {
                    long trimmed = Math.max(0, history.last() - random.nextInt(5));
                    devices.note(new Event.Trimmed(trimmed));
                    wal.trim(trimmed);
                }
                if (round % 5 == 0) {
                    wal.markIdle(0);
                    wal.markIdle(IdleMark.IDLE_NANOS);
                    await(() -> wal.markedLsn() == wal.syncedLsn() || segmentIsFull());
                }
            }
        }
        return empty;
    }

    /** A segment's first page is written once per use. */
    private long segmentUses() {
        return devices.events().stream()
                .filter(e -> e instanceof Event.Written w && w.at() == 0)
                .count();
    }

    /** To the last page: then a mark has no room, and the next segment's header says the same. */
    private boolean segmentIsFull() {
        return devices.events().stream()
                .filter(e -> e instanceof Event.Written)
                .map(e -> (Event.Written) e)
                .reduce((first, last) -> last)
                .filter(w -> w.at() + w.bytes().length + WalSegmentFormat.BYTES > SEGMENT_BYTES)
                .isPresent();
    }

    private static void await(Callable<Boolean> condition) {
        Awaitility.await().pollInterval(1, TimeUnit.MILLISECONDS).until(condition);
    }

    private Wal open(RecordedDevices from, long trimLsn, WalReplay recovered)
            throws IOException, DiskOpenException {
        return Wal.open(
                from, directory, 0, SEGMENT_BYTES, DISK, data(), trimLsn, FATAL, "cut", recovered);
    }

    /** Only its size counts. */
    private static DataFile data() {
        Path path = Path.of("data");
        RecordedDevices one = new RecordedDevices(Map.of(path, new byte[0]));
        try (DeviceFile device = one.open(path)) {
            return new DataFile(device, (long) LogHistory.DATA_BLOCKS * DataFile.BLOCK_BYTES);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private int cutEverywhere(Map<Path, byte[]> empty, boolean forgetful) {
        Map<Path, byte[]> durable = new HashMap<>(empty);
        List<Event.Written> inFlight = new ArrayList<>();
        long acknowledged = 0;
        long trimmed = 0;
        int cuts = 0;
        for (Event e : devices.events()) {
            switch (e) {
                case Event.Written w -> {
                    for (int at : cutsOf(w)) {
                        for (Survival s : Survival.values()) {
                            Map<Path, byte[]> image = image(durable, inFlight, w, at, s);
                            verify(image, trimmed, acknowledged, s + ", byte " + at + " of " + w);
                            cuts++;
                        }
                    }
                    inFlight.add(w);
                }
                case Event.Forced f -> {
                    if (!forgetful) {
                        inFlight.stream()
                                .filter(w -> w.device().equals(f.device()))
                                .forEach(w -> apply(durable, w, 0, w.bytes().length));
                        inFlight.removeIf(w -> w.device().equals(f.device()));
                    }
                }
                case Event.Acknowledged a -> acknowledged = a.lsn();
                case Event.Trimmed t -> trimmed = t.lsn();
            }
        }
        assertThat(acknowledged).isEqualTo(history.last());
        return cuts;
    }

    /** All sectors; if it is a batch, all records too, and several places inside of each. */
    private static TreeSet<Integer> cutsOf(Event.Written w) {
        TreeSet<Integer> cuts = new TreeSet<>();
        for (int at = 0; at <= w.bytes().length; at += SECTOR) {
            cuts.add(at);
        }
        ByteBuffer b = ByteBuffer.wrap(w.bytes()).order(ByteOrder.LITTLE_ENDIAN);
        WalBatchFormat.Header batch = WalBatchFormat.decode(b, 0, DISK);
        if (batch != null) {
            cuts.add(WalBatchFormat.BYTES / 2);
            int at = WalBatchFormat.BYTES;
            for (int i = 0; i < batch.records(); i++) {
                WalRecordFormat.Header h =
                        WalRecordFormat.decode(b, at, batch.length(), batch.salt());
                if (h == null) {
                    throw new AssertionError("record " + i + " of a batch is damaged");
                }
                int end = at + h.length();
                int payload = end - h.payloadLength();
                cuts.addAll(
                        List.of(
                                at,
                                at + WalRecordFormat.BYTES / 2,
                                at + WalRecordFormat.BYTES,
                                (at + WalRecordFormat.BYTES + payload) / 2,
                                payload,
                                (payload + end) / 2,
                                end - 1,
                                end));
                at += WalRecordFormat.aligned(h.length());
            }
            cuts.add(at);
        }
        return cuts;
    }

    private Map<Path, byte[]> image(
            Map<Path, byte[]> durable,
            List<Event.Written> inFlight,
            Event.Written last,
            int cut,
            Survival survival) {
        Map<Path, byte[]> image = new HashMap<>(durable);
        switch (survival) {
            case IN_ORDER -> {
                inFlight.forEach(w -> apply(image, w, 0, w.bytes().length));
                apply(image, last, 0, cut);
            }
            case REVERSED -> apply(image, last, cut, last.bytes().length);
            case SCATTERED -> {
                inFlight.forEach(w -> scatter(image, w, w.bytes().length));
                scatter(image, last, cut);
            }
        }
        return image;
    }

    private void scatter(Map<Path, byte[]> image, Event.Written w, int end) {
        for (int at = 0; at < end; at += SECTOR) {
            if (random.nextBoolean()) {
                apply(image, w, at, Math.min(end, at + SECTOR));
            }
        }
    }

    /** Bytes from and to within the write; the array is replaced, others may share the old one. */
    private static void apply(Map<Path, byte[]> image, Event.Written w, int from, int to) {
        image.computeIfPresent(
                w.device(),
                (path, before) -> {
                    byte[] after = before.clone();
                    System.arraycopy(w.bytes(), from, after, w.at() + from, to - from);
                    return after;
                });
    }

    private void verify(
            Map<Path, byte[]> image, long trimmed, long acknowledged, String description) {
        try {
            RecordedDevices restarted = new RecordedDevices(image);
            LogHistory.Comparison found = history.new Comparison(trimmed);
            LogHistory after;
            try (Wal wal = open(restarted, trimmed, found)) {
                assertThat(found.last()).as("last LSN").isGreaterThanOrEqualTo(acknowledged);
                assertThat(wal.syncedLsn()).isEqualTo(found.last());
                after = history.upTo(found.last());
                after.append(wal, lsn -> {});
            }
            LogHistory.Comparison again = after.new Comparison(trimmed);
            open(restarted, trimmed, again).close();
            assertThat(again.last()).as("last LSN, later").isEqualTo(after.last());
        } catch (AssertionError | Exception e) {
            throw new AssertionError(
                    description
                            + ", acknowledged "
                            + acknowledged
                            + "; repeat with -Dcairn.test.seed="
                            + seed,
                    e);
        }
    }
}
