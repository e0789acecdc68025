package io.cairn.mds.raft;

import io.cairn.common.file.Durable;
import io.cairn.common.file.FileTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The list of files in a checkpoint with their sizes. It is sent with them, so that the receiver
 * knows when it has all of them. Ratis (MD5) and RocksDB's own checksums check the contents.
 *
 * <p>One line per file: {@code size name}, the last line {@code end}. Stateless, any thread.
 */
final class CheckpointManifest {
    static final String NAME = "FILES";
    private static final String END = "end";

    private CheckpointManifest() {}

    /** Lists what is there; durable, as are the names in the directory, when it returns. */
    static void write(Path checkpoint) throws IOException {
        StringBuilder text = new StringBuilder();
        for (Path file : FileTree.files(checkpoint)) {
            text.append(Files.size(file)).append(' ');
            text.append(checkpoint.relativize(file)).append('\n');
        }
        text.append(END).append('\n');
        Durable.write(checkpoint.resolve(NAME), text.toString());
    }

    /** Whether all files listed are there in full; not without a list, or with half of one. */
    static boolean complete(Path checkpoint) throws IOException {
        Path manifest = checkpoint.resolve(NAME);
        if (!Files.exists(manifest)) {
            return false;
        }
        for (String line : Files.readAllLines(manifest)) {
            if (line.equals(END)) {
                return true;
            }
            int space = line.indexOf(' ');
            if (space < 1) {
                return false;
            }
            Path file = checkpoint.resolve(line.substring(space + 1));
            if (!Files.isRegularFile(file)
                    || !line.substring(0, space).equals(Long.toString(Files.size(file)))) {
                return false;
            }
        }
        return false;
    }
}
