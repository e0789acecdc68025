package io.cairn.dataserver.disk;

import com.google.protobuf.ByteString;
import io.cairn.common.file.Durable;
import io.cairn.common.file.InUseException;
import io.cairn.common.map.Uuids;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * A data server's identity on disk: {@code server-uuid} and {@code cluster-id} (text, hexadecimal),
 * and {@code lock}, held while a process serves from here. Any thread.
 */
public final class IdentityDirectory implements AutoCloseable {
    private final Path directory;
    private final FileChannel lockFile;
    private final ByteString serverUuid;
    private @Nullable ByteString clusterId;

    private IdentityDirectory(Path directory, FileChannel lockFile) throws IOException {
        this.directory = directory;
        this.lockFile = lockFile;
        ByteString known = read("server-uuid");
        if (known == null) {
            known = Uuids.random();
            write("server-uuid", known);
        }
        serverUuid = known;
        clusterId = read("cluster-id");
    }

    /**
     * Makes the directory if need be and locks it.
     *
     * @throws DiskOpenException naming the directory when it cannot be used
     */
    public static IdentityDirectory open(Path directory) throws DiskOpenException {
        try {
            Files.createDirectories(directory);
            FileChannel channel =
                    FileChannel.open(
                            directory.resolve("lock"),
                            StandardOpenOption.CREATE,
                            StandardOpenOption.WRITE);
            try {
                lock(directory, channel);
                return new IdentityDirectory(directory, channel);
            } catch (IOException | DiskOpenException e) {
                channel.close();
                throw e;
            }
        } catch (IOException e) {
            throw new DiskOpenException(
                    "state directory " + directory + " cannot be used: " + e, e);
        }
    }

    private static void lock(Path directory, FileChannel channel)
            throws IOException, DiskOpenException {
        FileLock lock;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException e) {
            lock = null;
        }
        if (lock == null) {
            String why = "state directory " + directory + " is in use by another data server";
            throw new DiskOpenException(why, new InUseException(why));
        }
    }

    /** Made at the first start. */
    public ByteString serverUuid() {
        return serverUuid;
    }

    /** Empty before the first registration. */
    public synchronized ByteString clusterId() {
        return clusterId == null ? ByteString.EMPTY : clusterId;
    }

    /**
     * Remembers the cluster this server belongs to, once.
     *
     * @throws DiskOpenException if it belongs to another one
     */
    public synchronized void joined(ByteString cluster) throws DiskOpenException {
        if (clusterId == null) {
            try {
                write("cluster-id", cluster);
            } catch (IOException e) {
                throw new DiskOpenException(
                        "state directory " + directory + " cannot be written: " + e, e);
            }
            clusterId = cluster;
        } else if (!clusterId.equals(cluster)) {
            throw new DiskOpenException(
                    "state directory %s belongs to cluster %s, but the metadata service is of cluster %s"
                            .formatted(directory, Uuids.hex(clusterId), Uuids.hex(cluster)));
        }
    }

    private @Nullable ByteString read(String name) throws IOException {
        Path file = directory.resolve(name);
        if (!Files.exists(file)) {
            return null;
        }
        try {
            byte[] id = HexFormat.of().parseHex(Files.readString(file).strip());
            if (id.length == Uuids.BYTES) {
                return ByteString.copyFrom(id);
            }
        } catch (IllegalArgumentException e) {
            throw new IOException(file + " does not hold an id", e);
        }
        throw new IOException(file + " does not hold an id");
    }

    /** After a crash there is all of it or nothing. */
    private void write(String name, ByteString id) throws IOException {
        Durable.write(directory.resolve(name), Uuids.hex(id) + "\n");
    }

    @Override
    public void close() {
        try {
            lockFile.close();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
