package io.cairn.dataserver.disk;

import io.cairn.common.file.Durable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Which disk was where when it opened last: the file {@code disks} in the state directory, a line
 * {@code UUID PATH} for each data file. With it a file system that is not mounted is not taken for
 * a new, empty disk, and a disk that does not open has its identity all the same. One thread.
 */
public final class KnownDisks {
    public static final String FILE = "disks";

    private final Path file;
    private final Map<String, UUID> disks = new TreeMap<>();

    private KnownDisks(Path file) {
        this.file = file;
    }

    /** Throws DiskOpenException if there is a file that is not one of ours. */
    public static KnownDisks in(Path stateDirectory) throws DiskOpenException {
        KnownDisks known = new KnownDisks(stateDirectory.resolve(FILE));
        if (!Files.exists(known.file)) {
            return known;
        }
        try {
            for (String line : Files.readAllLines(known.file)) {
                if (!line.isBlank()) {
                    int space = line.indexOf(' ');
                    UUID uuid = UUID.fromString(line.substring(0, Math.max(space, 0)));
                    known.disks.put(line.substring(space + 1), uuid);
                }
            }
        } catch (IOException | IllegalArgumentException e) {
            throw new DiskOpenException(
                    known.file + " cannot be read as lines of a disk's UUID and path: " + e, e);
        }
        return known;
    }

    /** The disk that had its data file there; null if there was none. */
    public @Nullable UUID at(Path data) {
        return disks.get(key(data));
    }

    /** Durable on return. */
    public void opened(Path data, UUID disk) throws DiskOpenException {
        if (disk.equals(at(data))) {
            return;
        }
        Map<String, UUID> next = new TreeMap<>(disks);
        next.put(key(data), disk);
        StringBuilder text = new StringBuilder();
        next.forEach((path, uuid) -> text.append(uuid).append(' ').append(path).append('\n'));
        try {
            Durable.write(file, text.toString());
        } catch (IOException e) {
            throw new DiskOpenException(file + " cannot be written: " + e, e);
        }
        disks.put(key(data), disk);
    }

    private static String key(Path data) {
        return data.toAbsolutePath().normalize().toString();
    }
}
