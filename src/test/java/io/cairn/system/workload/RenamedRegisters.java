package io.cairn.system.workload;

import io.cairn.system.history.Operation.Action;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Random;

/** Names that are given a new file with the new value by a rename: they are always there. */
public final class RenamedRegisters implements Usage {
    public static final String KIND = "name";
    public static final String INITIAL = "initial";

    private static final int NAMES = 3;

    private final Client client;

    RenamedRegisters(Client client) {
        this.client = client;
    }

    /** Makes the names. */
    public static void prepare(Path root) throws IOException {
        Files.createDirectory(root.resolve(KIND));
        for (int i = 0; i < NAMES; i++) {
            Files.writeString(root.resolve(KIND + "/" + i), INITIAL);
        }
    }

    @Override
    public void next(Random random) throws IOException {
        int number = random.nextInt(NAMES);
        if (random.nextInt(3) > 0) {
            read(number);
            return;
        }
        String value = client.newValue();
        Path fresh = client.root().resolve(KIND).resolve("new-" + value.replace('/', '-'));
        client.change(
                KIND + "/" + number,
                Action.WRITE,
                value,
                () -> {
                    Files.writeString(fresh, value);
                    Files.move(fresh, path(number), StandardCopyOption.ATOMIC_MOVE);
                    return "";
                });
    }

    private void read(int number) throws IOException {
        client.ask(KIND + "/" + number, Action.READ, "", () -> Files.readString(path(number)));
    }

    private Path path(int number) {
        return client.root().resolve(KIND + "/" + number);
    }

    @Override
    public void readAll() throws IOException {
        for (int number = 0; number < NAMES; number++) {
            read(number);
        }
    }
}
