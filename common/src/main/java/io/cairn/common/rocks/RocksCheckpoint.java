package io.cairn.common.rocks;

import io.cairn.common.file.Durable;
import io.cairn.common.file.FileTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.rocksdb.Checkpoint;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * Makes and restores checkpoints: a directory with the database's small files, and one folder per
 * table directory ({@code tables-0}, {@code tables-1}) when the database is split over two devices,
 * which RocksDB's own checkpoints do not support. Tables are hard-linked, so a checkpoint costs no
 * space while its tables are in use.
 */
final class RocksCheckpoint {
    private static final String PART = ".part";

    private RocksCheckpoint() {}

    /**
     * Makes a checkpoint of a flushed database; it is durable and complete when {@code target}
     * exists.
     */
    static void create(RocksDB db, DatabasePaths paths, Path target)
            throws IOException, RocksDBException {
        Path part = target.resolveSibling(target.getFileName() + PART);
        FileTree.delete(part);
        if (paths.split()) {
            linkLiveFiles(db, paths, part);
        } else {
            try (Checkpoint checkpoint = Checkpoint.create(db)) {
                checkpoint.createCheckpoint(part.toString());
            }
        }
        Durable.write(part.resolve(DatabasePaths.RECORD), paths.tables().size() + "\n");
        Files.move(part, target);
        Durable.syncParent(target);
    }

    private static void linkLiveFiles(RocksDB db, DatabasePaths paths, Path target)
            throws IOException, RocksDBException {
        Files.createDirectories(target);
        db.disableFileDeletions();
        try {
            RocksDB.LiveFiles live = db.getLiveFiles(true);
            for (int i = 0; i < paths.tables().size(); i++) {
                Files.createDirectory(target.resolve("tables-" + i));
            }
            for (LiveFileMetaData table : db.getLiveFilesMetaData()) {
                Path from = Path.of(table.path()).resolve(table.fileName().substring(1));
                int index = paths.tables().indexOf(Path.of(table.path()));
                if (index < 0) {
                    throw new IOException("table " + from + " lies in none of " + paths.tables());
                }
                Durable.linkOrCopy(
                        from, target.resolve("tables-" + index).resolve(from.getFileName()));
            }
            for (String file : live.files) {
                String name = file.substring(1);
                if (!name.endsWith(".sst")) {
                    Path from = paths.directory().resolve(name);
                    long length =
                            name.startsWith("MANIFEST-") ? live.manifestFileSize : Files.size(from);
                    Durable.copy(from, target.resolve(name), length);
                }
            }
            for (int i = 0; i < paths.tables().size(); i++) {
                Durable.sync(target.resolve("tables-" + i));
            }
            Durable.sync(target);
        } finally {
            db.enableFileDeletions();
        }
    }

    /**
     * Replaces a closed database by a checkpoint. CURRENT goes first and comes last, so a crash in
     * between leaves no database, never a mixed one.
     */
    static void restore(Path checkpoint, DatabasePaths paths) throws IOException {
        Files.deleteIfExists(paths.directory().resolve("CURRENT"));
        if (Files.isDirectory(paths.directory())) {
            Durable.sync(paths.directory());
        }
        for (Path table : paths.tables()) {
            FileTree.delete(table);
        }
        FileTree.delete(paths.directory());
        Files.createDirectories(paths.directory());
        for (int i = 0; i < paths.tables().size(); i++) {
            Path from = paths.split() ? checkpoint.resolve("tables-" + i) : checkpoint;
            restoreTables(from, paths.tables().get(i));
        }
        for (Path file : filesIn(checkpoint)) {
            String name = file.getFileName().toString();
            if (!name.endsWith(".sst") && !name.equals("CURRENT")) {
                Durable.copy(file, paths.directory().resolve(name), Files.size(file));
            }
        }
        Durable.sync(paths.directory());
        Durable.write(
                paths.directory().resolve("CURRENT"),
                Files.readString(checkpoint.resolve("CURRENT")));
    }

    private static void restoreTables(Path from, Path to) throws IOException {
        Files.createDirectories(to);
        for (Path file : filesIn(from)) {
            if (file.getFileName().toString().endsWith(".sst")) {
                Durable.linkOrCopy(file, to.resolve(file.getFileName()));
            }
        }
        Durable.sync(to);
    }

    private static List<Path> filesIn(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(Files::isRegularFile).toList();
        }
    }
}
