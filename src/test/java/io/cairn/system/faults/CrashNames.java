package io.cairn.system.faults;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Names in one directory, and what was acknowledged of them. Files and directories are made,
 * renamed and removed; none of that is followed by an fsync, so that the answer of the metadata
 * server alone is the promise. Some files get a text, which is promised once it was fsynced.
 *
 * <p>Changed by one thread; verified by another after that has ended.
 */
final class CrashNames {
    /** Stands for a directory where a file has its text. */
    private static final String DIRECTORY = "a directory";

    /** Stands for a text that was on its way when the file's name was acknowledged. */
    private static final String UNSYNCED = "text not yet promised";

    private static final int FEW = 5;
    private static final int MANY = 40;

    private final Path directory;
    private final String left;
    private final SplittableRandom random;
    private final Map<String, String> names = new HashMap<>();
    private @Nullable Change pending;
    private boolean made;
    private long nextName = 1;

    /** What is in flight: made if it comes from nowhere, removed if it goes nowhere. */
    private record Change(@Nullable String from, @Nullable String to, String text) {}

    /**
     * @param left a name in the directory that somebody else looks after
     */
    CrashNames(Path directory, String left, SplittableRandom random) {
        this.directory = directory;
        this.left = left;
        this.random = random;
    }

    void makeDirectory() throws IOException {
        Files.createDirectories(directory);
        made = true;
    }

    /** Does one random change; returns when it is acknowledged. */
    void change() throws IOException {
        List<String> present = names.keySet().stream().sorted().toList();
        int what = random.nextInt(5);
        if (present.size() < FEW || (what < 3 && present.size() < MANY)) {
            make("n" + nextName++, what);
            return;
        }
        String name = present.get(random.nextInt(present.size()));
        if (what == 3) {
            rename(name, "r" + nextName++);
        } else {
            remove(name);
        }
    }

    private void make(String name, int kind) throws IOException {
        Path path = directory.resolve(name);
        if (kind == 0) {
            pending = new Change(null, name, DIRECTORY);
            Files.createDirectory(path);
            names.put(name, DIRECTORY);
        } else if (kind == 1) {
            pending = new Change(null, name, "");
            Files.createFile(path);
            names.put(name, "");
        } else {
            makeWithText(name, path);
        }
        pending = null;
    }

    private void makeWithText(String name, Path path) throws IOException {
        String text = name + " in " + directory.getFileName();
        pending = new Change(null, name, text);
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            names.put(name, UNSYNCED);
            file.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
            file.force(true);
            names.put(name, text);
        }
    }

    private void rename(String from, String to) throws IOException {
        String text = Objects.requireNonNull(names.get(from));
        pending = new Change(from, to, text);
        Files.move(directory.resolve(from), directory.resolve(to));
        names.remove(from);
        names.put(to, text);
        pending = null;
    }

    private void remove(String name) throws IOException {
        pending = new Change(name, null, "");
        Files.delete(directory.resolve(name));
        names.remove(name);
        pending = null;
    }

    /**
     * Throws AssertionError for a loss; what was in flight counts as it turned out.
     *
     * @param same the directory, maybe by another mount
     */
    void verify(Path same) throws IOException {
        Map<String, String> found = found(same);
        Change change = pending;
        pending = null;
        if (change != null) {
            settle(change, found);
        }
        TreeSet<String> all = new TreeSet<>(names.keySet());
        all.addAll(found.keySet());
        for (String name : all) {
            String expected = names.get(name);
            String is = found.get(name);
            if (!Objects.equals(expected, is)) {
                throw new AssertionError(
                        (expected == null ? "LOST REMOVAL: " : "LOST NAME: ")
                                + "%s should hold %s, found %s"
                                        .formatted(directory.resolve(name), expected, is));
            }
        }
    }

    private void settle(Change change, Map<String, String> found) {
        boolean old = change.from != null && found.containsKey(change.from);
        String now = change.to == null ? null : found.get(change.to);
        if (change.from != null && change.to != null && old == (now != null)) {
            throw new AssertionError(
                    "LOST RENAME: of %s in %s %s is there"
                            .formatted(change, directory, old ? "both" : "neither"));
        }
        if (change.from != null && !old) {
            names.remove(change.from);
        }
        if (change.to != null && now != null) {
            boolean none = change.from == null && now.isEmpty();
            if (!none && !now.equals(change.text)) {
                throw new AssertionError(
                        "LOST TEXT: of %s in %s there is '%s'".formatted(change, directory, now));
            }
            names.put(change.to, now);
        }
    }

    /** Every name with its text. */
    private Map<String, String> found(Path same) throws IOException {
        Map<String, String> found = new HashMap<>();
        try (Stream<Path> list = Files.list(same)) {
            for (Path path : (Iterable<Path>) list::iterator) {
                String name = path.getFileName().toString();
                if (!name.equals(left)) {
                    boolean isDirectory = Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
                    found.put(name, isDirectory ? DIRECTORY : Files.readString(path));
                }
            }
        } catch (NoSuchFileException e) {
            if (made) {
                throw new AssertionError("LOST DIRECTORY: " + same, e);
            }
        }
        return found;
    }
}
