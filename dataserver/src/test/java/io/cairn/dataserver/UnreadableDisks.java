package io.cairn.dataserver;

import io.cairn.dataserver.disk.DeviceFile;
import io.cairn.dataserver.disk.DeviceFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.NavigableSet;
import java.util.concurrent.ConcurrentSkipListSet;

/** Real files, of which chosen pages of the data file cannot be read until they are written. */
final class UnreadableDisks implements DeviceFiles {
    private final DeviceFiles real = DeviceFiles.system();
    private final NavigableSet<Long> bad = new ConcurrentSkipListSet<>();

    /** The page of the data file that has this byte. */
    void failReads(long position) {
        bad.add(position / DeviceFile.PAGE_BYTES);
    }

    /** Whether all pages can be read again. */
    boolean healed() {
        return bad.isEmpty();
    }

    @Override
    public DeviceFile open(Path path) throws IOException {
        return wrap(real.open(path), path);
    }

    @Override
    public DeviceFile create(Path path, long sizeBytes) throws IOException {
        return wrap(real.create(path, sizeBytes), path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        real.forceDirectory(directory);
    }

    private DeviceFile wrap(DeviceFile file, Path path) {
        return path.endsWith("data") ? new Device(file) : file;
    }

    private NavigableSet<Long> badIn(long position, int length) {
        long first = position / DeviceFile.PAGE_BYTES;
        long last = (position + length - 1) / DeviceFile.PAGE_BYTES;
        return bad.subSet(first, true, last, true);
    }

    private final class Device implements DeviceFile {
        private final DeviceFile file;

        Device(DeviceFile file) {
            this.file = file;
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            badIn(position, source.remaining()).clear();
            file.write(source, position);
        }

        @Override
        public void read(ByteBuffer target, long position) throws IOException {
            if (!badIn(position, target.remaining()).isEmpty()) {
                throw new IOException("Input/output error");
            }
            file.read(target, position);
        }

        @Override
        public void force() throws IOException {
            file.force();
        }

        @Override
        public long sizeBytes() throws IOException {
            return file.sizeBytes();
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
