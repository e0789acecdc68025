package io.cairn.cli.local;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Held while {@code cairn up} works on a state directory, so that only one does. */
final class ClusterLock implements AutoCloseable {
    private final FileChannel file;

    private ClusterLock(FileChannel file) {
        this.file = file;
    }

    static ClusterLock take(ClusterDirectory cluster) throws IOException {
        Files.createDirectories(cluster.path());
        FileChannel file =
                FileChannel.open(
                        cluster.path().resolve("lock"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.WRITE);
        @Nullable FileLock lock = file.tryLock();
        if (lock == null) {
            file.close();
            throw new CommandException(
                    ExitCode.BUSY,
                    cluster.path() + ": another 'cairn up' works on it; wait for it to end");
        }
        return new ClusterLock(file);
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
