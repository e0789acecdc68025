package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.cairn.mds.raft.MetaLogConfig.Transport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Cuts and damages a real segment, written by Ratis. */
final class LogTailTest {
    private static final int ENTRIES = 20;

    @TempDir Path directory;

    @Test
    void everyTornTailIsCutAndTheRestKept() throws Exception {
        MetaLogConfig config = writeLog();
        Path segment = segment(config);
        byte[] whole = Files.readAllBytes(segment);
        int end = end(whole);
        // The last record, torn at every byte: zeros after it, as preallocation leaves them.
        int previous = end - lastRecordBytes(whole, end);
        for (int cut = previous; cut < end; cut++) {
            byte[] torn = Arrays.copyOf(Arrays.copyOf(whole, cut), whole.length + 4096);
            Files.write(segment, torn);
            LogTail.repair(raft(config));
            byte[] repaired = Files.readAllBytes(segment);
            assertThat(end(repaired)).as("cut at %d", cut).isEqualTo(previous);
        }
        Files.delete(directory.resolve("list-1"));
        try (LogMember member = new LogMember(config)) {
            await().atMost(Duration.ofSeconds(30)).until(member::leads);
            assertThat(member.state.entries()).hasSize(ENTRIES - 1);
        }
    }

    @Test
    void aHoleBeforeACommittedRecordIsDamage() throws Exception {
        MetaLogConfig config = writeLog();
        Path segment = segment(config);
        byte[] bytes = Files.readAllBytes(segment);
        int end = end(bytes);
        int at = end / 2;
        bytes[at] ^= 0x40;
        Files.write(segment, bytes);
        assertThatThrownBy(() -> LogTail.repair(raft(config)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("is damaged at entry")
                .hasMessageContaining("was committed");
        assertThat(Files.readAllBytes(segment)).isEqualTo(bytes);
    }

    @Test
    void aHoleAmongUnsyncedRecordsIsATail() throws Exception {
        MetaLogConfig config = writeLog();
        Path segment = segment(config);
        byte[] bytes = Files.readAllBytes(segment);
        int end = end(bytes);
        // Only the last record is unreadable: nothing behind it says it was synced.
        bytes[end - 6] ^= 0x40;
        Files.write(segment, bytes);
        LogTail.repair(raft(config));
        assertThat(Files.size(segment)).isLessThan(end);
    }

    /** After a failed sync the cache may have a record that the device never got. */
    @Test
    void whatTheDeviceHasIsReadAndNotWhatIsCached() throws Exception {
        MetaLogConfig config = writeLog();
        Path segment = segment(config);
        byte[] cached = Files.readAllBytes(segment);
        int end = end(cached);
        int previous = end - lastRecordBytes(cached, end);
        byte[] onDevice = cached.clone();
        Arrays.fill(onDevice, previous + 7, onDevice.length, (byte) 0);
        Path closed = segment.resolveSibling("log_1000000-1000001");
        Files.write(closed, new byte[0]);

        List<Path> settled = new ArrayList<>();
        LogTail.repair(
                raft(config),
                file -> {
                    settled.add(file);
                    if (file.equals(segment)) {
                        Files.write(file, onDevice);
                    }
                });

        assertThat(settled).containsExactlyInAnyOrder(segment, closed);
        assertThat(end(Files.readAllBytes(segment))).isEqualTo(previous);
        assertThatThrownBy(() ->
                        LogTail.repair(
                                raft(config),
                                file -> {
                                    throw new IOException("cannot sync " + file);
                                }))
                .hasMessageContaining("cannot sync");
    }

    @Test
    void aSegmentNeverBegunIsRemoved() throws Exception {
        Path current = Files.createDirectories(directory.resolve("g/current"));
        Path segment = Files.write(current.resolve("log_inprogress_17"), new byte[4096]);
        LogTail.repair(directory.resolve("g"));
        assertThat(segment).doesNotExist();
        Files.write(segment, new byte[0]);
        LogTail.repair(directory.resolve("g"));
        assertThat(segment).doesNotExist();
    }

    @Test
    void theHeaderOfAnEntryIsFixed() {
        ByteBuffer header = LogDataFormat.header(0x0102030405060708L);
        byte[] bytes = new byte[header.remaining()];
        header.get(bytes);
        assertThat(bytes).containsExactly(8, 7, 6, 5, 4, 3, 2, 1);
        assertThat(LogDataFormat.committed(ByteBuffer.wrap(bytes))).isEqualTo(0x0102030405060708L);
        for (int length = 0; length < LogDataFormat.HEADER_BYTES; length++) {
            ByteBuffer cut = ByteBuffer.wrap(bytes, 0, length);
            assertThatThrownBy(() -> LogDataFormat.entry(cut))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    private MetaLogConfig writeLog() throws Exception {
        MetaLogConfig config = LogMember.group(directory, 1, Transport.NETTY, 1_000_000).get(0);
        try (LogMember member = new LogMember(config)) {
            await().atMost(Duration.ofSeconds(30)).until(member::leads);
            for (int i = 0; i < ENTRIES; i++) {
                member.submit("entry number " + i).get(30, TimeUnit.SECONDS);
            }
        }
        return config;
    }

    private static Path raft(MetaLogConfig config) {
        return config.directory().resolve("raft").resolve(config.clusterId().toString());
    }

    private static Path segment(MetaLogConfig config) throws IOException {
        try (var paths = Files.list(raft(config).resolve("current"))) {
            return paths.filter(p -> p.getFileName().toString().startsWith("log_inprogress_"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Where the last whole record ends. */
    private static int end(byte[] bytes) {
        int at = 8;
        while (at < bytes.length && bytes[at] != 0) {
            at += lengthAt(bytes, at);
        }
        return at;
    }

    private static int lastRecordBytes(byte[] bytes, int end) {
        int at = 8;
        while (at + lengthAt(bytes, at) < end) {
            at += lengthAt(bytes, at);
        }
        return end - at;
    }

    private static int lengthAt(byte[] bytes, int at) {
        int length = bytes[at] & 0x7f;
        int prefix = 1;
        if (bytes[at] < 0) {
            length |= (bytes[at + 1] & 0x7f) << 7;
            prefix = 2;
        }
        return prefix + length + 4;
    }
}
