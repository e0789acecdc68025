package io.cairn.mds.store;

import io.cairn.common.file.Durable;
import io.cairn.common.file.FileTree;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.stream.Stream;

/**
 * Where the database lies, and how a checkpoint takes its place so that no crash leaves neither:
 *
 * <pre>
 *   receiving/  being copied, or done with; of no value after a crash
 *   received/   complete and durable: replaces current/, now or at the next start
 *   current/    the database
 * </pre>
 *
 * <p>One thread at a time, the database closed but for {@link #receive}.
 */
public final class StateDirectory {
    private final Path root;
    private final RocksConfig rocks;

    public StateDirectory(Path root, RocksConfig rocks) {
        this.root = root.toAbsolutePath();
        this.rocks = rocks;
    }

    /** The database's directory, after finishing what a crash interrupted. */
    public Path recover() throws IOException {
        Files.createDirectories(root);
        FileTree.delete(receiving());
        if (Files.exists(received())) {
            promote();
        }
        return current();
    }

    /** Copies a checkpoint next to the database; tables, which never change, are linked. */
    public void receive(Path checkpoint) throws IOException {
        FileTree.delete(receiving());
        try (Stream<Path> tree = Files.walk(checkpoint)) {
            for (Path from : tree.sorted().toList()) {
                Path to = receiving().resolve(checkpoint.relativize(from).toString());
                if (Files.isDirectory(from)) {
                    Files.createDirectories(to);
                } else if (!from.toString().endsWith(".sst") || !linked(from, to)) {
                    Files.copy(from, to);
                }
            }
        }
        Durable.syncTree(receiving());
        Files.move(receiving(), received(), StandardCopyOption.ATOMIC_MOVE);
        Durable.sync(root);
    }

    /** Makes the received checkpoint the database. */
    public Path promote() throws IOException {
        RocksDatabase.restore(received(), current(), MetaDatabase.NAME, rocks);
        Durable.sync(root);
        Files.move(received(), receiving(), StandardCopyOption.ATOMIC_MOVE);
        Durable.sync(root);
        FileTree.delete(receiving());
        return current();
    }

    private Path receiving() {
        return root.resolve("receiving");
    }

    private Path received() {
        return root.resolve("received");
    }

    private Path current() {
        return root.resolve("current");
    }

    private static boolean linked(Path from, Path to) {
        try {
            Files.createLink(to, from.toRealPath());
            return true;
        } catch (IOException | UnsupportedOperationException e) {
            return false; // another device, or a file system without links: copied then
        }
    }
}
