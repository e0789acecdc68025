package io.cairn.mds.raft;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/**
 * A state that is the list of entries it was given. Like RocksDB without a WAL it keeps only what
 * was flushed, which happens at checkpoints. Any thread.
 */
final class ListState implements ReplicatedState {
    private final Path file;
    private final List<String> entries = new ArrayList<>();
    private long term;
    private long index;

    ListState(Path file) throws IOException {
        this.file = file;
        if (Files.exists(file)) {
            load(file);
        }
    }

    private void load(Path from) throws IOException {
        List<String> lines = Files.readAllLines(from);
        term = Long.parseLong(lines.get(0));
        index = Long.parseLong(lines.get(1));
        entries.clear();
        entries.addAll(lines.subList(2, lines.size()));
    }

    @Override
    public synchronized ByteString apply(long term, long index, ByteString entry) {
        if (index <= this.index) {
            throw new AssertionError("entry " + index + " again, at " + this.index);
        }
        this.term = term;
        this.index = index;
        entries.add(entry.toStringUtf8());
        return ByteString.copyFromUtf8(entries.size() + ":" + entry.toStringUtf8());
    }

    @Override
    public boolean readable(ByteString entry) {
        return entry.isValidUtf8();
    }

    @Override
    public synchronized long appliedIndex() {
        return index;
    }

    @Override
    public synchronized long appliedTerm() {
        return term;
    }

    @Override
    public synchronized void skip(long term, long index) {
        this.term = term;
        this.index = index;
    }

    @Override
    public void flush() {
        // at checkpoints
    }

    @Override
    public synchronized Position checkpoint(Path directory) throws IOException {
        Files.createDirectory(directory);
        StringBuilder text = new StringBuilder().append(term).append('\n').append(index);
        entries.forEach(e -> text.append('\n').append(e));
        Path copy = directory.resolve("list");
        Files.write(copy, text.toString().getBytes(StandardCharsets.UTF_8));
        Files.copy(copy, file, StandardCopyOption.REPLACE_EXISTING);
        return new Position(term, index);
    }

    @Override
    public synchronized void restore(Path directory) throws IOException {
        Files.copy(directory.resolve("list"), file, StandardCopyOption.REPLACE_EXISTING);
        load(file);
    }

    synchronized List<String> entries() {
        return List.copyOf(entries);
    }

    @Override
    public void close() {}

    static ListState open(Path file) {
        try {
            return new ListState(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
