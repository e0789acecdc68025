package io.cairn.system.workload;

import io.cairn.system.history.Operation.Action;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;

/** Small files through the page cache, opened and closed for each access. */
public final class ClosedRegisters implements Usage {
    public static final String KIND = "file";
    public static final String INITIAL = "initial";

    private static final int FILES = 4;
    private static final int LENGTH = 4096;

    private final Client client;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(LENGTH);

    ClosedRegisters(Client client) {
        this.client = client;
    }

    /** Makes the files. */
    public static void prepare(Path root) throws IOException {
        Files.createDirectory(root.resolve(KIND));
        for (int i = 0; i < FILES; i++) {
            ByteBuffer all = ByteBuffer.allocate(LENGTH);
            Content.put(INITIAL, all);
            Files.write(root.resolve(KIND + "/" + i), all.array());
        }
    }

    @Override
    public void next(Random random) throws IOException {
        int number = random.nextInt(FILES);
        if (random.nextInt(3) > 0) {
            read(number);
            return;
        }
        String value = client.newValue();
        Content.put(value, buffer);
        client.change(
                KIND + "/" + number,
                Action.WRITE,
                value,
                () -> {
                    try (FileChannel file = open(number, StandardOpenOption.WRITE)) {
                        Content.write(file, buffer);
                    }
                    return "";
                });
    }

    private void read(int number) throws IOException {
        client.ask(
                KIND + "/" + number,
                Action.READ,
                "",
                () -> {
                    try (FileChannel file = open(number, StandardOpenOption.READ)) {
                        Content.read(file, buffer);
                    }
                    return Content.get(buffer);
                });
    }

    private FileChannel open(int number, StandardOpenOption how) throws IOException {
        return FileChannel.open(client.root().resolve(KIND + "/" + number), how);
    }

    @Override
    public void readAll() throws IOException {
        for (int number = 0; number < FILES; number++) {
            read(number);
        }
    }
}
