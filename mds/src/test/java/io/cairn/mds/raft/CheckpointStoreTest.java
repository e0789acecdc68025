package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.time.ManualClock;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CheckpointStoreTest {
    @TempDir Path directory;

    private final ManualClock clock = new ManualClock();
    private ListState state;
    private CheckpointStore store;

    @BeforeEach
    void open() throws IOException {
        state = new ListState(directory.resolve("list"));
        store = newStore();
        store.open(state);
    }

    private CheckpointStore newStore() {
        return new CheckpointStore(
                directory.resolve("checkpoints"), directory.resolve("incoming"), clock);
    }

    private SnapshotInfo takeAt(long index) throws IOException {
        state.apply(1, index, ByteString.copyFromUtf8("e" + index));
        store.take(state);
        return latest();
    }

    private SnapshotInfo latest() {
        return Objects.requireNonNull(store.getLatestSnapshot());
    }

    private List<String> kept() throws IOException {
        try (Stream<Path> children = Files.list(directory.resolve("checkpoints"))) {
            return children.map(c -> c.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void aCheckpointStaysWhileItIsBeingSent() throws IOException {
        SnapshotInfo first = takeAt(1);
        // As Ratis does: all sizes at first, then each file when its turn comes.
        assertThat(first.getFiles()).hasSize(2);
        takeAt(2);
        for (int chunk = 0; chunk < 100; chunk++) {
            clock.advance(Duration.ofSeconds(100));
            store.dropUnused();
            FileInfo file = first.getFiles().get(chunk % 2);
            assertThat(Files.size(file.getPath())).isEqualTo(file.getFileSize());
        }
        clock.advance(KeptCheckpoint.IDLE);
        store.dropUnused();
        assertThat(kept()).containsExactly("1-2");
    }

    @Test
    void oneThatNobodyIsSentGoesWithTheNext() throws IOException {
        takeAt(1);
        takeAt(2);
        assertThat(kept()).containsExactly("1-1", "1-2");
        store.dropUnused();
        assertThat(kept()).containsExactly("1-2");
        store.take(state);
        store.dropUnused();
        assertThat(kept()).containsExactly("1-2");
    }

    @Test
    void theNextWaitsForATransferButNotForever() throws IOException {
        SnapshotInfo first = takeAt(1);
        assertThat(store.beingSent()).isFalse();
        int minutes = 0;
        do {
            first.getFiles();
            clock.advance(Duration.ofMinutes(1));
            minutes++;
        } while (store.beingSent());
        assertThat(minutes).isEqualTo(30);

        SnapshotInfo second = takeAt(2);
        second.getFiles();
        assertThat(store.beingSent()).isTrue();
        clock.advance(KeptCheckpoint.IDLE);
        assertThat(store.beingSent()).isFalse();
    }

    @Test
    void aTransferOfHundredsOfGibibytesHoldsTheNextAsLongAsItMakesProgress() throws IOException {
        long chunks = (300L << 30) / KeptCheckpoint.CHUNK_BYTES;
        KeptCheckpoint large =
                new KeptCheckpoint(
                        TermIndex.valueOf(1, 7),
                        directory,
                        List.of(new FileInfo(sparse(300L << 30), null)),
                        clock);
        assertThat(large.getFiles()).hasSize(1);
        // 4 MiB/s: 21 hours.
        for (long chunk = 0; chunk < chunks; chunk++) {
            assertThat(large.inUseWithProgress(Duration.ofMinutes(30))).isTrue();
            large.getFiles();
            clock.advance(Duration.ofSeconds(1));
        }
        assertThat(large.inUseWithProgress(Duration.ofMinutes(30))).isTrue();
        clock.advance(KeptCheckpoint.IDLE);
        assertThat(large.inUseWithProgress(Duration.ofMinutes(30))).isFalse();
    }

    @Test
    void aTransferThatBeginsAgainAndAgainHoldsTheNextForATimeOnly() throws IOException {
        KeptCheckpoint small =
                new KeptCheckpoint(
                        TermIndex.valueOf(1, 7),
                        directory,
                        List.of(new FileInfo(sparse(40L << 20), null)),
                        clock);
        int asked = 0;
        do {
            small.getFiles();
            asked++;
            clock.advance(Duration.ofSeconds(100));
        } while (small.inUseWithProgress(Duration.ofMinutes(30)));
        // Ten chunks and the question for the list: four times.
        assertThat(asked).isEqualTo(4 * 11 + 1);
    }

    private Path sparse(long bytes) throws IOException {
        Path file = Files.createTempFile(directory, "sparse", "");
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.setLength(bytes);
        }
        return file;
    }

    @Test
    void whatEarlierAttemptsLeftGoesWhenTheNextHasBegun() throws IOException {
        Path incoming = directory.resolve("incoming");
        for (String attempt : List.of("snapshot-a", "snapshot-b")) {
            Files.createDirectories(incoming.resolve(attempt).resolve("1-7"));
            Files.writeString(incoming.resolve(attempt).resolve("1-7").resolve("list"), "half");
        }
        store.attemptBegun("b");
        assertThat(incoming.resolve("snapshot-a")).doesNotExist();
        assertThat(incoming.resolve("snapshot-b").resolve("1-7").resolve("list")).exists();
        store.attemptBegun("c");
        assertThat(incoming).isEmptyDirectory();
    }

    /** As a power cut may leave it, where the list of files was not synced before its name. */
    @Test
    void aListOfFilesCutShortIsNeverSent() throws IOException {
        takeAt(1);
        Path checkpoint = directory.resolve("checkpoints").resolve("1-1");
        Path list = checkpoint.resolve("FILES");
        String whole = Files.readString(list);
        for (int length = 0; length < whole.length() - 1; length++) {
            Files.writeString(list, whole.substring(0, length));
            assertThat(CheckpointManifest.complete(checkpoint)).as(whole).isFalse();
        }
        Files.writeString(list, "\0\0\0\0");
        store = newStore();
        store.open(state);
        assertThat(CheckpointManifest.complete(checkpoint)).isTrue();
        assertThat(Files.readString(list)).isEqualTo(whole);
        assertThat(latest().getFiles()).hasSize(2);
    }
}
