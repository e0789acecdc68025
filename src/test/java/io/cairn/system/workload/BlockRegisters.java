package io.cairn.system.workload;

import com.sun.nio.file.ExtendedOpenOption;
import io.cairn.system.history.Operation.Action;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** The first bytes of files that are held open with O_DIRECT: each access reaches the servers. */
public final class BlockRegisters implements Usage {
    public static final String KIND = "block";
    public static final String INITIAL = "initial";

    /** Files; the even ones of one block, the odd ones of more. */
    private static final int FILES = 6;

    private static final int BLOCK = 4096;
    private static final int LARGE = 16 * BLOCK;

    private final Client client;
    private final @Nullable FileChannel[] open = new FileChannel[FILES];
    private final ByteBuffer small = ByteBuffer.allocateDirect(2 * BLOCK).alignedSlice(BLOCK);
    private final ByteBuffer large =
            ByteBuffer.allocateDirect(LARGE + BLOCK).alignedSlice(BLOCK).slice(0, LARGE);

    BlockRegisters(Client client) {
        this.client = client;
        small.limit(BLOCK);
    }

    /** Makes the files; nobody has any of them then. */
    public static void prepare(Path root) throws IOException {
        Files.createDirectory(root.resolve(KIND));
        for (int i = 0; i < FILES; i++) {
            ByteBuffer all = ByteBuffer.allocate(LARGE + BLOCK);
            Content.put(INITIAL, all);
            Files.write(root.resolve(KIND + "/" + i), all.array());
        }
    }

    @Override
    public void next(Random random) throws IOException {
        int number = random.nextInt(FILES);
        if (random.nextInt(5) < 2) {
            String value = client.newValue();
            ByteBuffer buffer = buffer(number);
            Content.put(value, buffer);
            client.change(
                    KIND + "/" + number,
                    Action.WRITE,
                    value,
                    () -> {
                        Content.write(open(number), buffer);
                        return "";
                    });
        } else {
            read(number);
        }
    }

    private void read(int number) throws IOException {
        ByteBuffer buffer = buffer(number);
        client.ask(
                KIND + "/" + number,
                Action.READ,
                "",
                () -> {
                    Content.read(open(number), buffer);
                    return Content.get(buffer);
                });
    }

    private ByteBuffer buffer(int number) {
        return number % 2 == 0 ? small.slice(0, BLOCK) : large;
    }

    private FileChannel open(int number) throws IOException {
        @Nullable FileChannel file = open[number];
        if (file == null) {
            file =
                    FileChannel.open(
                            client.root().resolve(KIND + "/" + number),
                            StandardOpenOption.READ,
                            StandardOpenOption.WRITE,
                            ExtendedOpenOption.DIRECT);
            open[number] = file;
        }
        return file;
    }

    @Override
    public void readAll() throws IOException {
        for (int number = 0; number < FILES; number++) {
            read(number);
        }
    }

    @Override
    public void reset() {
        for (int number = 0; number < FILES; number++) {
            @Nullable FileChannel file = open[number];
            open[number] = null;
            if (file != null) {
                Worker.closeQuietly(file);
            }
        }
    }
}
