package io.cairn.system.workload;

import static io.cairn.system.history.NameSets.ABSENT;
import static io.cairn.system.history.NameSets.DONE;
import static io.cairn.system.history.NameSets.THERE;

import io.cairn.system.history.Operation.Action;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Directories with entries that come and go: directories with even numbers, files with odd ones.
 */
public final class Names implements Usage {
    public static final String KIND = "set";

    private static final int SETS = 2;
    private static final int ENTRIES = 6;

    private final Client client;

    Names(Client client) {
        this.client = client;
    }

    /** Makes the directories. */
    public static void prepare(Path root) throws IOException {
        Files.createDirectory(root.resolve(KIND));
        for (int i = 0; i < SETS; i++) {
            Files.createDirectory(root.resolve(KIND + "/" + i));
        }
    }

    @Override
    public void next(Random random) throws IOException {
        String set = KIND + "/" + random.nextInt(SETS);
        int number = random.nextInt(ENTRIES);
        Path entry = client.root().resolve(set + "/" + number);
        switch (random.nextInt(8)) {
            case 0, 1, 2 -> client.change(set, Action.ADD, "" + number, () -> add(entry, number));
            case 3, 4, 5 -> client.change(set, Action.REMOVE, "" + number, () -> remove(entry));
            case 6 -> client.ask(set, Action.CONTAINS, "" + number, () -> look(entry));
            default -> list(set);
        }
    }

    private static String add(Path entry, int number) throws IOException {
        try {
            if (number % 2 == 0) {
                Files.createDirectory(entry);
            } else {
                Files.createFile(entry);
            }
            return DONE;
        } catch (FileAlreadyExistsException e) {
            return THERE;
        }
    }

    private static String remove(Path entry) throws IOException {
        try {
            Files.delete(entry);
            return DONE;
        } catch (NoSuchFileException e) {
            return ABSENT;
        }
    }

    private static String look(Path entry) throws IOException {
        try {
            var _ =
                    Files.readAttributes(
                            entry, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            return THERE;
        } catch (NoSuchFileException e) {
            return ABSENT;
        }
    }

    private void list(String set) throws IOException {
        client.ask(
                set,
                Action.LIST,
                "",
                () -> {
                    try (Stream<Path> entries = Files.list(client.root().resolve(set))) {
                        List<String> names =
                                entries.map(p -> p.getFileName().toString()).sorted().toList();
                        return names.stream().collect(Collectors.joining(","));
                    } catch (UncheckedIOException e) {
                        throw new IOException(e);
                    }
                });
    }

    @Override
    public void readAll() throws IOException {
        for (int i = 0; i < SETS; i++) {
            list(KIND + "/" + i);
        }
    }
}
