package io.cairn.cli.local;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.DSYNC;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** What programs do with a file system: small files, their names and attributes, one large file. */
final class TrainingWork {
    private static final int THREADS = 4;
    private static final int SMALL_FILES = 16;
    private static final int PAGE = 4096;
    private static final int LARGE_WRITE = 1 << 20;
    private static final int LARGE_FILE = 8 * LARGE_WRITE;
    private static final int RANDOM_WRITES = 64;

    private final Path root;
    private final long endNanos;

    TrainingWork(Path root, long endNanos) {
        this.root = root;
        this.endNanos = endNanos;
    }

    /** Returns at the end time, when what was begun is done. */
    void run() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Path own = root.resolve("work-" + i);
            threads.add(Thread.ofPlatform().name("training-" + i).start(() -> work(own)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void work(Path own) {
        try {
            while (System.nanoTime() - endNanos < 0) {
                Files.createDirectory(own);
                smallFiles(own);
                largeFile(own.resolve("large"));
                Files.delete(own);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void smallFiles(Path directory) throws IOException {
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < SMALL_FILES; i++) {
            Path file = directory.resolve("f" + i);
            try (FileChannel channel = FileChannel.open(file, CREATE, WRITE)) {
                channel.write(ByteBuffer.allocate(PAGE));
                if (i % 2 == 0) {
                    channel.force(true);
                }
            }
            files.add(file);
        }
        try (var entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                Files.readAttributes(entry, BasicFileAttributes.class);
                Files.readAllBytes(entry);
            }
        }
        Path link = directory.resolve("link");
        Files.createSymbolicLink(link, files.getFirst());
        Files.readSymbolicLink(link);
        Files.delete(link);
        for (Path file : files) {
            Files.setLastModifiedTime(file, FileTime.fromMillis(0));
            Files.delete(Files.move(file, directory.resolve(file.getFileName() + "-renamed")));
        }
    }

    private static void largeFile(Path file) throws IOException {
        ByteBuffer large = ByteBuffer.allocateDirect(LARGE_WRITE + PAGE).alignedSlice(PAGE);
        try (FileChannel channel = FileChannel.open(file, CREATE, READ, WRITE)) {
            for (int at = 0; at < LARGE_FILE; at += LARGE_WRITE) {
                channel.write(large.clear().limit(LARGE_WRITE), at);
            }
            channel.force(false);
        }
        try (FileChannel direct =
                FileChannel.open(file, READ, WRITE, DSYNC, ExtendedOpenOption.DIRECT)) {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            for (int i = 0; i < RANDOM_WRITES; i++) {
                long at = (long) random.nextInt(LARGE_FILE / PAGE) * PAGE;
                direct.write(large.clear().limit(PAGE), at);
                direct.read(large.clear().limit(PAGE), at);
            }
            for (int at = 0; at < LARGE_FILE; at += LARGE_WRITE) {
                direct.read(large.clear().limit(LARGE_WRITE), at);
            }
            direct.truncate(PAGE);
        }
        Files.delete(file);
    }
}
