package io.cairn.mds.raft;

import io.cairn.common.file.Durable;
import io.cairn.common.libc.PageCache;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes what is read of a Ratis log durable, and cuts a torn tail off its open segment, before
 * Ratis reads it.
 *
 * <p>Ratis takes what it finds in the files for durable. After a kill the page cache has pages that
 * the device has not yet; after a failed sync it may have pages that are called clean and never
 * reached the device (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC
 * 2020). An entry read from such a page could be applied and answered again, and then be gone with
 * the next power cut. So every segment is synced and then read from the device.
 *
 * <p>Why: a power cut may leave any subset of the pages written since the last sync. Ratis takes
 * zeros for the end of the log, but refuses to start when a record is there in part. Its other
 * policy silently drops damaged records that were synced and acknowledged. Here the log is cut at
 * the first unreadable record only if nothing shows that this record was ever synced. A later
 * record that carries a committed index at or above the unreadable one ({@link LogDataFormat})
 * proves damage; then the member does not start.
 *
 * <p>Segment: {@code "RaftLog1"}, then records of a varint length, a {@code LogEntryProto} and a
 * big-endian CRC32C over both, then zeros. Used by one thread before the log is opened.
 */
final class LogTail {
    private static final Logger LOG = LoggerFactory.getLogger(LogTail.class);
    private static final byte[] HEADER = {'R', 'a', 'f', 't', 'L', 'o', 'g', '1'};
    private static final String SEGMENT = "log_";
    private static final String OPEN_SEGMENT = SEGMENT + "inprogress_";

    private final Path segment;
    private final byte[] bytes;

    private LogTail(Path segment, byte[] bytes) {
        this.segment = segment;
        this.bytes = bytes;
    }

    /** Makes a file durable and forgets what is cached of it. */
    @FunctionalInterface
    interface Settling {
        void settle(Path file) throws IOException;
    }

    /**
     * @param raftDirectory the group's directory; nothing there is fine
     * @throws IOException where synced records are damaged, or a segment cannot be synced
     */
    static void repair(Path raftDirectory) throws IOException {
        repair(raftDirectory, LogTail::settle);
    }

    static void repair(Path raftDirectory, Settling settling) throws IOException {
        Path current = raftDirectory.resolve("current");
        if (!Files.isDirectory(current)) {
            return;
        }
        List<Path> segments;
        try (Stream<Path> paths = Files.list(current)) {
            segments = paths.filter(p -> name(p).startsWith(SEGMENT)).sorted().toList();
        }
        for (Path segment : segments) {
            settling.settle(segment);
        }
        Durable.sync(current);
        List<Path> open =
                segments.stream()
                        .filter(p -> name(p).startsWith(OPEN_SEGMENT))
                        .sorted(Comparator.comparingLong(LogTail::startIndex))
                        .toList();
        for (Path segment : open) {
            new LogTail(segment, Files.readAllBytes(segment)).repair();
        }
    }

    private static void settle(Path segment) throws IOException {
        Durable.sync(segment);
        PageCache.drop(segment);
    }

    private static String name(Path segment) {
        return segment.getFileName().toString();
    }

    private void repair() throws IOException {
        if (!headerComplete()) {
            // The header is synced when the segment is made; without it nothing else was written.
            if (!zeroFrom(Math.min(bytes.length, HEADER.length))) {
                throw damaged(0, "its header is unreadable");
            }
            LOG.info("{} was never begun: removed", segment);
            Files.delete(segment);
            Durable.sync(directory());
            return;
        }
        int end = HEADER.length;
        long next = startIndex(segment);
        for (Entry r = read(end, next); r != null; r = read(end, next)) {
            end = r.end;
            next++;
        }
        if (zeroFrom(end)) {
            return;
        }
        long proof = highestCommittedAfter(end, next);
        if (proof >= next) {
            throw damaged(
                    next, "entry " + next + " is unreadable but was committed (" + proof + " is)");
        }
        LOG.info(
                "{}: {} bytes after entry {} were being written when this member last stopped and"
                        + " were never acknowledged: cut off",
                segment,
                bytes.length - end,
                next - 1);
        try (FileChannel channel = FileChannel.open(segment, StandardOpenOption.WRITE)) {
            channel.truncate(end);
            channel.force(true);
        }
    }

    private IOException damaged(long index, String what) {
        return new IOException(
                segment
                        + " is damaged at entry "
                        + index
                        + ": "
                        + what
                        + "; restore this member from the others (remove it, add it under a new id)");
    }

    private Path directory() {
        Path parent = segment.getParent();
        return parent == null ? segment : parent;
    }

    private boolean headerComplete() {
        return bytes.length >= HEADER.length
                && ByteBuffer.wrap(bytes, 0, HEADER.length).equals(ByteBuffer.wrap(HEADER));
    }

    private boolean zeroFrom(int from) {
        for (int i = from; i < bytes.length; i++) {
            if (bytes[i] != 0) {
                return false;
            }
        }
        return true;
    }

    /** Looks for whole records at every position; only done where something is unreadable. */
    private long highestCommittedAfter(int from, long index) {
        long highest = -1;
        int at = from + 1;
        while (at < bytes.length) {
            Entry r = read(at, -1);
            if (r == null || r.index < index) {
                at++;
            } else {
                highest = Math.max(highest, r.committed);
                at = r.end;
            }
        }
        return highest;
    }

    /** The record at the position, null where none is; any index will do where it is negative. */
    private @Nullable Entry read(int at, long index) {
        int length = 0;
        int shift = 0;
        int p = at;
        byte b;
        do {
            if (p >= bytes.length || shift > 28) {
                return null;
            }
            b = bytes[p++];
            length |= (b & 0x7f) << shift;
            shift += 7;
        } while (b < 0);
        if (length <= 0 || length > bytes.length - p - Integer.BYTES) {
            return null;
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes, at, p - at + length);
        int end = p + length + Integer.BYTES;
        if (ByteBuffer.wrap(bytes).getInt(p + length) != (int) crc.getValue()) {
            return null;
        }
        try {
            LogEntryProto entry = LogEntryProto.parseFrom(ByteString.copyFrom(bytes, p, length));
            if (index >= 0 && entry.getIndex() != index) {
                return null;
            }
            return new Entry(end, entry.getIndex(), committed(entry));
        } catch (IOException e) {
            return null;
        }
    }

    private static long committed(LogEntryProto entry) {
        if (entry.hasMetadataEntry()) {
            return entry.getMetadataEntry().getCommitIndex();
        }
        ByteString data = entry.getStateMachineLogEntry().getLogData();
        return data.size() < LogDataFormat.HEADER_BYTES
                ? -1
                : LogDataFormat.committed(data.asReadOnlyByteBuffer());
    }

    private static long startIndex(Path segment) {
        return Long.parseLong(name(segment).substring(OPEN_SEGMENT.length()));
    }

    private record Entry(int end, long index, long committed) {}
}
