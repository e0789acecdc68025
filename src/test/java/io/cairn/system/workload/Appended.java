package io.cairn.system.workload;

import io.cairn.system.history.Logs;
import io.cairn.system.history.Operation.Action;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/** Logs that all append to, held open with O_APPEND: a new one every while. */
public final class Appended implements Usage {
    public static final String KIND = "log";

    private static final Duration EACH = Duration.ofSeconds(20);
    private static final int LONGEST = 20_000;

    private final Client client;
    private @Nullable FileChannel log;
    private long number = -1;
    private int writer;
    private int records;

    Appended(Client client) {
        this.client = client;
    }

    /** Makes the directory. */
    public static void prepare(Path root) throws IOException {
        Files.createDirectory(root.resolve(KIND));
    }

    @Override
    public void next(Random random) throws IOException {
        long now = System.nanoTime() / EACH.toNanos(); // the same in all processes
        if (now != number) {
            reset();
            number = now;
        }
        if (random.nextInt(15) == 0) {
            read(number);
            return;
        }
        String name = client.name() + "/" + writer + ":" + ++records;
        ByteBuffer record = ByteBuffer.wrap(record(name, length(random)));
        boolean sync = random.nextBoolean();
        client.change(
                KIND + "/" + number,
                sync ? Action.APPEND_SYNC : Action.APPEND,
                name,
                () -> {
                    int length = record.remaining();
                    FileChannel to = open();
                    int written = to.write(record);
                    if (written != length) {
                        throw new IOException("%d of %d bytes".formatted(written, length));
                    }
                    if (sync) {
                        to.force(true);
                    }
                    return "";
                });
    }

    private static int length(Random random) {
        return random.nextInt(4) == 0 ? random.nextInt(LONGEST) : random.nextInt(300);
    }

    private FileChannel open() throws IOException {
        @Nullable FileChannel open = log;
        if (open == null) {
            open =
                    FileChannel.open(
                            path(number), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            log = open;
        }
        return open;
    }

    /** Name, filling, checksum, and the end of the line. */
    private static byte[] record(String name, int filling) {
        String start = name + " " + "x".repeat(filling) + " ";
        return (start + checksum(start) + "\n").getBytes(StandardCharsets.US_ASCII);
    }

    private static String checksum(String text) {
        CRC32C crc = new CRC32C();
        crc.update(text.getBytes(StandardCharsets.ISO_8859_1));
        return Long.toHexString(crc.getValue());
    }

    /** Names of the records; what is none is shown with its place. */
    public static List<String> names(Path log) throws IOException {
        byte[] bytes;
        try {
            bytes = Files.readAllBytes(log);
        } catch (NoSuchFileException e) {
            return List.of();
        }
        List<String> names = new ArrayList<>();
        int from = 0;
        while (from < bytes.length) {
            int to = from;
            while (to < bytes.length && bytes[to] != '\n') {
                to++;
            }
            String line = new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
            int sum = line.lastIndexOf(' ') + 1;
            boolean whole =
                    sum > 0
                            && to < bytes.length
                            && line.substring(sum).equals(checksum(line.substring(0, sum)));
            names.add(
                    whole
                            ? line.substring(0, line.indexOf(' '))
                            : "damaged[%d,%d)".formatted(from, to));
            from = to + 1;
        }
        return names;
    }

    private void read(long which) throws IOException {
        client.ask(KIND + "/" + which, Action.READ, "", () -> Logs.picture(names(path(which))));
    }

    private Path path(long which) {
        return client.root().resolve(KIND + "/" + which);
    }

    /** The test reads them itself. */
    @Override
    public void readAll() {}

    @Override
    public void reset() {
        @Nullable FileChannel open = log;
        log = null;
        writer++;
        if (open != null) {
            Worker.closeQuietly(open);
        }
    }
}
