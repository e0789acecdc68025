package io.cairn.dataserver.disk;

import com.sun.nio.file.ExtendedOpenOption;
import io.cairn.common.libc.FileSpace;
import io.cairn.common.libc.PageCache;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Device files on {@link FileChannel}: positional reads and writes, fdatasync. Any thread. */
class ChannelDeviceFiles implements DeviceFiles {
    private static final Logger LOG = LoggerFactory.getLogger(ChannelDeviceFiles.class);

    /** Told about already. */
    private final Set<Path> cachedDirectories = ConcurrentHashMap.newKeySet();

    @Override
    public DeviceFile open(Path path) throws IOException {
        return wrap(
                FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE), path);
    }

    @Override
    public DeviceFile openDirect(Path path) throws IOException {
        DeviceFile cached = open(path);
        DeviceFile direct = null;
        try {
            direct =
                    wrap(
                            FileChannel.open(
                                    path,
                                    StandardOpenOption.READ,
                                    StandardOpenOption.WRITE,
                                    ExtendedOpenOption.DIRECT),
                            path);
            if (refusesPages(direct, cached)) {
                throw new IOException("pages of " + DeviceFile.PAGE_BYTES + " bytes are refused");
            }
            cached.close();
            return direct;
        } catch (IOException | UnsupportedOperationException e) {
            if (direct != null) {
                direct.close();
            }
            noDirect(path, e);
            return cached;
        }
    }

    /**
     * Some file systems open a file for direct I/O, and then do none; a bad sector is no reason.
     */
    private static boolean refusesPages(DeviceFile direct, DeviceFile cached) {
        ByteBuffer page = PageBuffers.allocate(DeviceFile.PAGE_BYTES);
        return !canRead(direct, page) && canRead(cached, page.clear());
    }

    private static boolean canRead(DeviceFile device, ByteBuffer page) {
        try {
            device.read(page, 0);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private void noDirect(Path path, Exception why) {
        Path directory = path.toAbsolutePath().getParent();
        if (directory != null && cachedDirectories.add(directory)) {
            LOG.warn(
                    "The file system of {} has no direct I/O ({}): what a failed sync left in the"
                            + " kernel's cache cannot be told from what the device has. Use a file"
                            + " system that has it, such as ext4 or XFS, for the write-ahead log",
                    directory,
                    why.getMessage());
        }
    }

    @Override
    public void dropCache(Path path) throws IOException {
        PageCache.drop(path);
    }

    @Override
    public DeviceFile create(Path path, long sizeBytes) throws IOException {
        FileChannel channel =
                FileChannel.open(
                        path,
                        StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE);
        channel.write(ByteBuffer.allocate(1), sizeBytes - 1);
        return wrap(channel, path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** Separate so that a build for tests can leave out the sync. */
    DeviceFile wrap(FileChannel channel, Path path) {
        return new ChannelDevice(channel, path);
    }

    /** One open file. */
    static class ChannelDevice implements DeviceFile {
        private final FileChannel channel;
        private final Path path;
        private volatile @Nullable FileStore fileSystem;

        ChannelDevice(FileChannel channel, Path path) {
            this.channel = channel;
            this.path = path;
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            long at = position;
            while (source.hasRemaining()) {
                at += channel.write(source, at);
            }
        }

        @Override
        public void read(ByteBuffer target, long position) throws IOException {
            long at = position;
            while (target.hasRemaining()) {
                int n = channel.read(target, at);
                if (n < 0) {
                    throw new EOFException(path + " ends before " + at);
                }
                at += n;
            }
        }

        @Override
        public void force() throws IOException {
            channel.force(false);
        }

        @Override
        public long sizeBytes() throws IOException {
            return channel.size();
        }

        @Override
        public FileSpace.Outcome reserve(long position, long bytes) throws IOException {
            return Files.isRegularFile(path)
                    ? FileSpace.reserve(path, position, bytes)
                    : FileSpace.Outcome.DONE;
        }

        @Override
        public void unreserve(long position, long bytes) throws IOException {
            if (Files.isRegularFile(path)) {
                FileSpace.punch(path, position, bytes);
            }
        }

        @Override
        public long allocatedBytes() throws IOException {
            return Files.isRegularFile(path) ? FileSpace.allocatedBytes(path) : sizeBytes();
        }

        @Override
        public long roomBytes() throws IOException {
            if (!Files.isRegularFile(path)) {
                return Long.MAX_VALUE;
            }
            FileStore known = fileSystem;
            if (known == null) {
                known = Files.getFileStore(path); // reads the table of mounts
                fileSystem = known;
            }
            return known.getUsableSpace();
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
