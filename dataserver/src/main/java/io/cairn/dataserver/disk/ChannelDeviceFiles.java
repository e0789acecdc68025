package io.cairn.dataserver.disk;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Device files on {@link FileChannel}: positional reads and writes, fdatasync. Any thread. */
class ChannelDeviceFiles implements DeviceFiles {
    @Override
    public DeviceFile open(Path path) throws IOException {
        return wrap(
                FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE), path);
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
        public void close() throws IOException {
            channel.close();
        }
    }
}
