package io.cairn.dataserver.disk;

import io.cairn.common.libc.FileSpace;
import io.cairn.dataserver.disk.DiskCalls.Kind;
import io.cairn.dataserver.disk.DiskCalls.Part;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** The data file and the log of one disk, whose reads, writes and syncs are accounted for. */
public final class WatchedDevices implements DeviceFiles {
    private final DeviceFiles files;
    private final DiskCalls calls;
    private final Path wal;

    /**
     * @param wal directory of the write-ahead log; other files are the data file
     */
    public WatchedDevices(DeviceFiles files, DiskCalls calls, Path wal) {
        this.files = files;
        this.calls = calls;
        this.wal = wal;
    }

    @Override
    public DeviceFile open(Path path) throws IOException {
        return watched(files.open(path), path);
    }

    @Override
    public DeviceFile openDirect(Path path) throws IOException {
        return watched(files.openDirect(path), path);
    }

    @Override
    public DeviceFile create(Path path, long sizeBytes) throws IOException {
        return watched(files.create(path, sizeBytes), path);
    }

    private DeviceFile watched(DeviceFile device, Path path) {
        return new Watched(device, path.startsWith(wal) ? Part.WAL : Part.DATA, calls);
    }

    @Override
    public void dropCache(Path path) throws IOException {
        files.dropCache(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        files.forceDirectory(directory);
    }

    /** One of them. */
    private record Watched(DeviceFile device, Part part, DiskCalls calls) implements DeviceFile {
        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            calls.run(part, Kind.WRITE, () -> device.write(source, position));
        }

        @Override
        public void read(ByteBuffer target, long position) throws IOException {
            calls.run(part, Kind.READ, () -> device.read(target, position));
        }

        @Override
        public void force() throws IOException {
            calls.run(part, Kind.SYNC, device::force);
        }

        @Override
        public long sizeBytes() throws IOException {
            return device.sizeBytes();
        }

        @Override
        public FileSpace.Outcome reserve(long position, long bytes) throws IOException {
            return device.reserve(position, bytes);
        }

        @Override
        public void unreserve(long position, long bytes) throws IOException {
            device.unreserve(position, bytes);
        }

        @Override
        public long allocatedBytes() throws IOException {
            return device.allocatedBytes();
        }

        @Override
        public long roomBytes() throws IOException {
            return device.roomBytes();
        }

        @Override
        public void close() throws IOException {
            device.close();
        }
    }
}
