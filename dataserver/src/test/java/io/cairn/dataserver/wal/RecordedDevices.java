package io.cairn.dataserver.wal;

import io.cairn.dataserver.disk.DeviceFile;
import io.cairn.dataserver.disk.DeviceFiles;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Devices in memory that remember every write and sync, in order, together with what a test notes
 * between them. Files of the same names exist so that the program finds them. Any thread.
 */
final class RecordedDevices implements DeviceFiles {
    /** One moment of the history. */
    sealed interface Event {
        record Written(Path device, int at, byte[] bytes) implements Event {
            @Override
            public String toString() {
                return bytes.length + " bytes written at " + at + " of " + device.getFileName();
            }
        }

        /** All written to the device before is durable. */
        record Forced(Path device) implements Event {}

        /** The log told its user that everything up to the LSN is durable. */
        record Acknowledged(long lsn) implements Event {}

        /** The user told the log that the index has everything up to the LSN. */
        record Trimmed(long lsn) implements Event {}
    }

    private final ReentrantLock gate = new ReentrantLock();
    // guarded by this
    private final Map<Path, byte[]> contents = new HashMap<>();
    private final List<Event> events = new ArrayList<>();

    /** Without any device. */
    RecordedDevices() {}

    /** Devices of these contents, which are copied. */
    RecordedDevices(Map<Path, byte[]> contents) {
        contents.forEach((path, bytes) -> this.contents.put(path, bytes.clone()));
    }

    /** What the devices hold now. */
    synchronized Map<Path, byte[]> contents() {
        Map<Path, byte[]> copy = new HashMap<>();
        contents.forEach((path, bytes) -> copy.put(path, bytes.clone()));
        return copy;
    }

    synchronized List<Event> events() {
        return List.copyOf(events);
    }

    synchronized void note(Event event) {
        events.add(event);
    }

    /** Forgets what happened. */
    synchronized void begin() {
        events.clear();
    }

    /** Runs it while no write gets through: what it appends to a log comes together. */
    void whileWritesWait(Runnable work) {
        gate.lock();
        try {
            work.run();
        } finally {
            gate.unlock();
        }
    }

    @Override
    public synchronized DeviceFile open(Path path) throws IOException {
        byte[] bytes = contents.get(path);
        if (bytes == null) {
            throw new NoSuchFileException(path.toString());
        }
        return new Recorded(path, bytes);
    }

    @Override
    public synchronized DeviceFile create(Path path, long sizeBytes) throws IOException {
        Files.createFile(path);
        contents.put(path, new byte[Math.toIntExact(sizeBytes)]);
        return open(path);
    }

    @Override
    public void forceDirectory(Path directory) {}

    private final class Recorded implements DeviceFile {
        private final Path path;
        private final byte[] bytes;

        Recorded(Path path, byte[] bytes) {
            this.path = path;
            this.bytes = bytes;
        }

        @Override
        public void write(ByteBuffer source, long position) {
            gate.lock();
            try {
                byte[] written = new byte[source.remaining()];
                source.get(written);
                int at = Math.toIntExact(position);
                synchronized (RecordedDevices.this) {
                    System.arraycopy(written, 0, bytes, at, written.length);
                    events.add(new Event.Written(path, at, written));
                }
            } finally {
                gate.unlock();
            }
        }

        @Override
        public void read(ByteBuffer target, long position) throws IOException {
            synchronized (RecordedDevices.this) {
                if (position + target.remaining() > bytes.length) {
                    throw new EOFException("read beyond the end");
                }
                target.put(bytes, Math.toIntExact(position), target.remaining());
            }
        }

        @Override
        public void force() {
            note(new Event.Forced(path));
        }

        @Override
        public long sizeBytes() {
            return bytes.length;
        }

        @Override
        public void close() {}
    }
}
