package io.cairn.system;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Writers that remember, outside the file system, what was acknowledged to them. After a crash
 * every acknowledged change must be there, and of an operation that was under way either the old
 * state or the new one.
 *
 * <p>Each writer owns a directory. It overwrites records of one file, with fsync, and creates,
 * renames, and removes small files and directories. Its threads end at the first error: the cluster
 * is gone.
 */
final class CrashWorkload {
    private static final int SLOTS = 200;

    /** Records straddle 4 KiB blocks. */
    private static final int SLOT_BYTES = 3000;

    private static final int PAGE_BYTES = 4096;

    private final List<Writer> writers = new ArrayList<>();
    private final AtomicLong acknowledged = new AtomicLong();
    private volatile boolean stopping;

    CrashWorkload(Path root, int writers, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < writers; i++) {
            this.writers.add(new Writer(root.resolve("writer-" + i), i, random.split()));
        }
    }

    /** Starts or, after a crash and a new start of the cluster, resumes writing. */
    void start() {
        stopping = false;
        writers.forEach(Writer::start);
    }

    /** Operations acknowledged so far, over all writers and rounds. */
    long acknowledged() {
        return acknowledged.get();
    }

    /** Waits for the writers to run into the end of the cluster. */
    void join() {
        stopping = true;
        writers.forEach(Writer::join);
    }

    /** Compares everything with what was acknowledged; throws AssertionError for a loss. */
    void verify() {
        writers.forEach(Writer::verify);
    }

    /** Why writers ended, for messages. */
    String ends() {
        StringBuilder text = new StringBuilder();
        writers.forEach(w -> text.append(w.end).append('\n'));
        return text.toString();
    }

    private final class Writer {
        private final Path directory;
        private final int id;
        private final SplittableRandom random;
        private final long[] ackedVersion = new long[SLOTS];

        /** What each slot is known to hold; zeros at first. */
        private final byte[][] settled = new byte[SLOTS][SLOT_BYTES];

        /** Written before the first acknowledged version, at a crash; it may show up. */
        private final long[] maybeVersion = new long[SLOTS];

        private final Map<String, @Nullable String> names = new HashMap<>();
        private int pendingSlot = -1;
        private long pendingVersion;
        private long nextVersion = 1;
        private long nextName = 1;
        private @Nullable Map<String, @Nullable String> pendingNames;
        private @Nullable Thread thread;
        private String end = "";

        Writer(Path directory, int id, SplittableRandom random) {
            this.directory = directory;
            this.id = id;
            this.random = random;
        }

        void start() {
            Thread t = new Thread(this::run, "crash-writer-" + id);
            thread = t;
            t.start();
        }

        void join() {
            Thread t = thread;
            if (t == null) {
                return;
            }
            try {
                t.join(200_000);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            if (t.isAlive()) {
                AssertionError stuck =
                        new AssertionError("writer " + id + " hangs after the crash");
                stuck.setStackTrace(t.getStackTrace());
                throw stuck;
            }
        }

        private void run() {
            try {
                Files.createDirectories(directory);
                Path data = directory.resolve("data");
                try (FileChannel file =
                        FileChannel.open(
                                data, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                    while (!stopping) {
                        if (random.nextInt(3) == 0) {
                            changeNames();
                        } else {
                            writeSlot(file);
                        }
                        acknowledged.incrementAndGet();
                    }
                }
                end = "writer " + id + ": stopped";
            } catch (IOException e) {
                end = "writer " + id + ": " + e;
            }
        }

        private void writeSlot(FileChannel file) throws IOException {
            int slot = random.nextInt(SLOTS);
            pendingVersion = nextVersion++;
            pendingSlot = slot;
            ByteBuffer bytes = ByteBuffer.wrap(content(slot, pendingVersion));
            long at = (long) slot * SLOT_BYTES;
            while (bytes.hasRemaining()) {
                at += file.write(bytes, at);
            }
            file.force(false);
            ackedVersion[slot] = pendingVersion;
            settled[slot] = content(slot, pendingVersion);
            maybeVersion[slot] = 0;
            pendingSlot = -1;
        }

        private void changeNames() throws IOException {
            List<String> files =
                    names.entrySet().stream()
                            .filter(e -> e.getValue() != null)
                            .map(Map.Entry::getKey)
                            .sorted()
                            .toList();
            int choice = files.size() < 5 ? 0 : files.size() > 40 ? 2 : random.nextInt(3);
            Map<String, @Nullable String> change = new HashMap<>();
            switch (choice) {
                case 0 -> {
                    String name = "n" + nextName++;
                    String text = name + " of writer " + id;
                    change.put(name, text);
                    pendingNames = change;
                    try (FileChannel file =
                            FileChannel.open(
                                    directory.resolve(name),
                                    StandardOpenOption.CREATE_NEW,
                                    StandardOpenOption.WRITE)) {
                        names.put(name, null); // exists, content not yet promised
                        file.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
                        file.force(true);
                    }
                }
                case 1 -> {
                    String from = files.get(random.nextInt(files.size()));
                    String to = "r" + nextName++;
                    change.put(from, null);
                    change.put(to, names.get(from));
                    pendingNames = change;
                    Files.move(directory.resolve(from), directory.resolve(to));
                }
                default -> {
                    String name = files.get(random.nextInt(files.size()));
                    change.put(name, null);
                    pendingNames = change;
                    Files.delete(directory.resolve(name));
                }
            }
            change.forEach((name, text) -> {
                if (text == null) {
                    names.remove(name);
                } else {
                    names.put(name, text);
                }
            });
            pendingNames = null;
        }

        void verify() {
            try {
                verifySlots();
                verifyNames();
            } catch (IOException e) {
                throw new AssertionError("writer " + id + " cannot read back", e);
            }
        }

        private void verifySlots() throws IOException {
            Path data = directory.resolve("data");
            byte[] all;
            try {
                all = Files.readAllBytes(data);
            } catch (NoSuchFileException e) {
                all = new byte[0];
            }
            for (int slot = 0; slot < SLOTS; slot++) {
                byte[] found = new byte[SLOT_BYTES];
                int from = Math.min(all.length, slot * SLOT_BYTES);
                int bytes = Math.min(SLOT_BYTES, all.length - from);
                System.arraycopy(all, from, found, 0, bytes);
                byte[] old = settled[slot];
                if (slot == pendingSlot && ackedVersion[slot] == 0) {
                    maybeVersion[slot] = pendingVersion; // its size may be published later
                }
                long maybe = slot == pendingSlot ? pendingVersion : maybeVersion[slot];
                if (Arrays.equals(found, old)) {
                    continue;
                }
                if (maybe != 0 && isMixture(slot, found, old, content(slot, maybe))) {
                    if (bytes == SLOT_BYTES) {
                        settled[slot] = found;
                    }
                    continue;
                }
                throw new AssertionError(
                        "LOST DATA: writer %d slot %d: acknowledged version %d, under way %s, found %s"
                                .formatted(
                                        id,
                                        slot,
                                        ackedVersion[slot],
                                        slot == pendingSlot ? pendingVersion : "none",
                                        identify(slot, found, bytes)));
            }
            pendingSlot = -1;
        }

        /**
         * The kernel may send one write in several requests, cut at page boundaries; each is old or
         * new as a whole.
         */
        private static boolean isMixture(int slot, byte[] found, byte[] old, byte[] next) {
            int at = 0;
            while (at < SLOT_BYTES) {
                int end =
                        Math.min(
                                SLOT_BYTES,
                                at + PAGE_BYTES - (slot * SLOT_BYTES + at) % PAGE_BYTES);
                if (!Arrays.equals(found, at, end, old, at, end)
                        && !Arrays.equals(found, at, end, next, at, end)) {
                    return false;
                }
                at = end;
            }
            return true;
        }

        private String identify(int slot, byte[] found, int bytes) {
            for (long v = 1; v < nextVersion; v++) {
                if (Arrays.equals(found, content(slot, v))) {
                    return "version " + v;
                }
            }
            return "something else, " + bytes + " bytes in the file";
        }

        private void verifyNames() throws IOException {
            Map<String, @Nullable String> pending = pendingNames == null ? Map.of() : pendingNames;
            for (Map.Entry<String, @Nullable String> e : Map.copyOf(withoutNulls()).entrySet()) {
                String found = contentOf(e.getKey());
                if (found == null && pending.containsKey(e.getKey())) {
                    names.remove(e.getKey());
                } else if (!e.getValue().equals(found)) {
                    throw new AssertionError(
                            "LOST NAME: writer %d: %s should hold '%s', found %s"
                                    .formatted(id, e.getKey(), e.getValue(), found));
                }
            }
            try (var list = Files.list(directory)) {
                for (Path p : (Iterable<Path>) list::iterator) {
                    String name = p.getFileName().toString();
                    if (name.equals("data") || names.get(name) != null) {
                        continue;
                    }
                    if (!pending.containsKey(name)) {
                        throw new AssertionError(
                                "CAME BACK: writer " + id + ": " + name + " was removed");
                    }
                    String text = pending.get(name);
                    if (text != null && text.equals(contentOf(name))) {
                        names.put(name, text);
                    } else {
                        Files.delete(p); // created, content not promised
                        names.remove(name);
                    }
                }
            } catch (NoSuchFileException e) {
                if (!withoutNulls().isEmpty()) {
                    throw new AssertionError("LOST DIRECTORY " + directory, e);
                }
            }
            names.values().removeIf(Objects::isNull);
            pendingNames = null;
        }

        private Map<String, String> withoutNulls() {
            Map<String, String> present = new HashMap<>();
            names.forEach((name, text) -> {
                if (text != null) {
                    present.put(name, text);
                }
            });
            return present;
        }

        private @Nullable String contentOf(String name) throws IOException {
            try {
                return Files.readString(directory.resolve(name));
            } catch (NoSuchFileException e) {
                return null;
            }
        }

        private byte[] content(int slot, long version) {
            byte[] bytes = new byte[SLOT_BYTES];
            new SplittableRandom(((long) id << 48) ^ ((long) slot << 32) ^ version)
                    .nextBytes(bytes);
            return bytes;
        }
    }
}
