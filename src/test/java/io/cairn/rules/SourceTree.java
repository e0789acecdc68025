package io.cairn.rules;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The repository's own files. */
final class SourceTree {
    /**
     * The repository's root: the nearest directory above the working directory that holds the
     * launcher.
     */
    static final Path ROOT = findRoot();

    private SourceTree() {}

    /** Files with this ending, relative to the root, without what builds leave. */
    static List<Path> files(String ending) {
        try (Stream<Path> all = Files.walk(ROOT)) {
            return all.map(ROOT::relativize)
                    .filter(p -> p.toString().endsWith(ending) && !generated(p))
                    .filter(p -> Files.isRegularFile(ROOT.resolve(p)))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String read(Path relative) {
        try {
            return Files.readString(ROOT.resolve(relative));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean generated(Path p) {
        String text = "/" + p;
        return text.contains("/target/") || text.contains("/.git/") || text.contains("/.");
    }

    private static Path findRoot() {
        Path at = Path.of("").toAbsolutePath();
        while (at != null && !Files.exists(at.resolve("cairn"))) {
            at = at.getParent();
        }
        if (at == null) {
            throw new IllegalStateException("no repository above " + Path.of("").toAbsolutePath());
        }
        return at;
    }
}
