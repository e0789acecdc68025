package io.cairn.common.rocks;

import io.cairn.common.file.Durable;
import io.cairn.common.file.FileTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.rocksdb.Checkpoint;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * Makes and restores checkpoints: a directory with the database's small files and its tables. When
 * the database is split over two devices, which RocksDB's own checkpoints do not support, there is
 * one folder per table directory ({@code tables-0}, {@code tables-1}), with symbolic links to hard
 * links on the tables' own device ({@link TableLinks}). So a checkpoint costs no copying, and no
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
        Path checkpoints = target.toAbsolutePath().getParent();
        if (checkpoints == null) {
            throw new IOException("no checkpoint can be made in " + target);
        }
        Files.createDirectories(target);
        UUID id = UUID.randomUUID();
        List<Path> folders = new ArrayList<>();
        for (int i = 0; i < paths.tables().size(); i++) {
            Path tables = paths.tables().get(i).toAbsolutePath();
            TableLinks.dropUnused(tables);
            folders.add(TableLinks.folder(tables, checkpoints, id));
            Files.createDirectory(target.resolve("tables-" + i));
        }
        db.disableFileDeletions();
        try {
            RocksDB.LiveFiles live = db.getLiveFiles(true);
            for (String file : live.files) {
                String name = file.substring(1);
                if (name.endsWith(".sst")) {
                    // Where it is now, whatever a compaction has made of it since the list.
                    int index = device(paths, name);
                    Path link = folders.get(index).resolve(name);
                    Durable.linkOrCopy(paths.tables().get(index).resolve(name), link);
                    Files.createSymbolicLink(target.resolve("tables-" + index).resolve(name), link);
                } else {
                    Path from = paths.directory().resolve(name);
                    long length =
                            name.startsWith("MANIFEST-") ? live.manifestFileSize : Files.size(from);
                    Durable.copy(from, target.resolve(name), length);
                }
            }
            for (int i = 0; i < paths.tables().size(); i++) {
                Durable.sync(folders.get(i));
                Durable.sync(target.resolve("tables-" + i));
            }
            Durable.sync(target);
        } finally {
            db.enableFileDeletions();
        }
    }

    /** Which of its directories a table is in; files are not deleted meanwhile. */
    private static int device(DatabasePaths paths, String table) throws IOException {
        for (int i = 0; i < paths.tables().size(); i++) {
            if (Files.exists(paths.tables().get(i).resolve(table))) {
                return i;
            }
        }
        throw new IOException("table " + table + " lies in none of " + paths.tables());
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
