package io.cairn.common.rocks;

import io.cairn.common.file.Durable;
import io.cairn.common.file.FileTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;

/**
 * The hard links by which checkpoints hold on to the tables of a database that lies on several
 * devices. A hard link cannot leave its device, so the links of one checkpoint lie in a folder of
 * its own beside each table directory, and the checkpoint has symbolic links to them:
 *
 * <pre>
 *   fast/NAME/000012.sst                      the table
 *   fast/NAME.checkpoints/ID/000012.sst       hard link
 *   fast/NAME.checkpoints/ID/of               the directory the checkpoint was made in
 *   DIRECTORY/CHECKPOINT/tables-0/000012.sst  symbolic link to that
 * </pre>
 *
 * <p>A checkpoint may be renamed within its directory, and is deleted like any other directory; its
 * folders are dropped when the next one is made ({@link #dropUnused}). One thread at a time.
 */
final class TableLinks {
    private static final String SUFFIX = ".checkpoints";
    private static final String OWNER = "of";

    private TableLinks() {}

    /** A new folder for the tables of one directory, of a checkpoint to be made in the other. */
    static Path folder(Path tables, Path checkpoints, UUID id) throws IOException {
        Path all = all(tables);
        if (!Files.isDirectory(all)) {
            Files.createDirectories(all);
            Durable.syncParent(all);
        }
        Path folder = all.resolve(id.toString());
        Files.createDirectory(folder);
        Durable.write(folder.resolve(OWNER), checkpoints.toAbsolutePath() + "\n");
        Durable.sync(all);
        return folder;
    }

    /** Drops the folders beside a table directory whose checkpoints are gone. */
    static void dropUnused(Path tables) throws IOException {
        for (Path folder : FileTree.children(all(tables))) {
            if (!used(folder)) {
                FileTree.delete(folder);
            }
        }
    }

    private static boolean used(Path folder) throws IOException {
        Path owner = folder.resolve(OWNER);
        if (!Files.exists(owner)) {
            return false; // being made when the process ended
        }
        for (Path checkpoint : FileTree.children(Path.of(Files.readString(owner).strip()))) {
            for (Path part : FileTree.children(checkpoint)) {
                List<Path> links = FileTree.children(part);
                // All of one directory lead to the same folder.
                if (!links.isEmpty()
                        && Files.isSymbolicLink(links.get(0))
                        && folder.equals(Files.readSymbolicLink(links.get(0)).getParent())) {
                    return true;
                }
            }
        }
        return false;
    }

    private static Path all(Path tables) {
        return tables.resolveSibling(tables.getFileName() + SUFFIX);
    }
}
