package io.cairn.system.faults;

import io.cairn.system.support.Cluster;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Names in one directory, and what was acknowledged of them. Files and directories are made,
 * renamed and removed. What was synced is promised, and so is every answer, unless the mount that
 * gave it had made the directory and dies: then the last ones may be missing, but none before
 * another. Some files get a text, which is promised once it was fsynced.
 *
 * <p>Changed by one thread; verified by another after that has ended.
 */
final class CrashNames {
    /** Stands for a directory where a file has its text. */
    private static final String DIRECTORY = "a directory";

    /** Before a text that was on its way when the file's name was acknowledged. */
    private static final String UNSYNCED = "maybe ";

    private static final int FEW = 5;
    private static final int MANY = 40;

    private final Path directory;
    private final SplittableRandom random;

    /** As programs were told. */
    private final Map<String, String> names = new HashMap<>();

    /** As promised. */
    private Map<String, String> promised = new HashMap<>();

    /** Since then; the last may be in flight. */
    private final List<Change> unpromised = new ArrayList<>();

    /** Whether the mount that is there now has made it. */
    private boolean own;

    private boolean made;
    private long nextName = 1;

    /** Of one name: made if it comes from nowhere, removed if it goes nowhere. */
    private record Change(@Nullable String from, @Nullable String to, String text) {
        void applyTo(Map<String, String> names) {
            if (from != null) {
                names.remove(from);
            }
            if (to != null) {
                names.put(to, text);
            }
        }
    }

    CrashNames(Path directory, SplittableRandom random) {
        this.directory = directory;
        this.random = random;
    }

    void makeDirectory() throws IOException {
        if (!made) {
            Files.createDirectories(directory);
            Cluster.sync(Objects.requireNonNull(directory.getParent()));
            own = true;
            made = true;
        }
    }

    /** Does one random change; returns when it is acknowledged. */
    void change() throws IOException {
        changeOne();
        if (!own) {
            promised();
        } else if (random.nextInt(8) == 0) {
            Cluster.sync(directory);
            promised();
        }
    }

    /** All that was acknowledged is promised, for the mount lives or it was synced. */
    void promised() {
        promised = new HashMap<>(names);
        unpromised.clear();
    }

    private void begin(Change change) {
        unpromised.add(change);
    }

    private void done() {
        unpromised.getLast().applyTo(names);
    }

    private void changeOne() throws IOException {
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
            begin(new Change(null, name, DIRECTORY));
            Files.createDirectory(path);
        } else if (kind == 1) {
            begin(new Change(null, name, ""));
            Files.createFile(path);
        } else {
            makeWithText(name, path);
            return;
        }
        done();
    }

    private void makeWithText(String name, Path path) throws IOException {
        String text = name + " in " + directory.getFileName();
        begin(new Change(null, name, UNSYNCED + text));
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            done();
            file.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
            file.force(true);
            names.put(name, text);
            promised();
        }
    }

    private void rename(String from, String to) throws IOException {
        begin(new Change(from, to, Objects.requireNonNull(names.get(from))));
        Files.move(directory.resolve(from), directory.resolve(to));
        done();
    }

    private void remove(String name) throws IOException {
        begin(new Change(name, null, ""));
        Files.delete(directory.resolve(name));
        done();
    }

    /**
     * Throws AssertionError for a loss; what was not promised counts as it turned out.
     *
     * @param same the directory, maybe by another mount
     */
    void verify(Path same) throws IOException {
        Map<String, String> found = found(same);
        Map<String, String> expected = new HashMap<>(promised);
        boolean is = isSame(expected, found);
        for (Change change : unpromised) {
            change.applyTo(expected);
            is |= isSame(expected, found);
        }
        if (!is) {
            throw new AssertionError(
                    "LOST NAMES: in %s is %s, promised was %s, and after it %s"
                            .formatted(same, found, promised, unpromised));
        }
        names.clear();
        names.putAll(found);
        own = false;
        promised();
    }

    private static boolean isSame(Map<String, String> expected, Map<String, String> found) {
        return expected.keySet().equals(found.keySet())
                && expected.entrySet().stream()
                        .allMatch(e -> {
                            String text = e.getValue();
                            String is = found.get(e.getKey());
                            return text.startsWith(UNSYNCED)
                                    ? List.of("", text.substring(UNSYNCED.length())).contains(is)
                                    : text.equals(is);
                        });
    }

    /** Every name with its text. */
    private Map<String, String> found(Path same) throws IOException {
        Map<String, String> found = new HashMap<>();
        try (Stream<Path> list = Files.list(same)) {
            for (Path path : (Iterable<Path>) list::iterator) {
                boolean isDirectory = Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
                found.put(
                        path.getFileName().toString(),
                        isDirectory ? DIRECTORY : Files.readString(path));
            }
        } catch (NoSuchFileException e) {
            if (made) {
                throw new AssertionError("LOST DIRECTORY: " + same, e);
            }
        }
        return found;
    }
}
