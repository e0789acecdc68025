package io.cairn.cli.local;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a part of a local cluster is, and the launcher's role (JVM settings) that runs it alone. */
enum PartKind {
    MDS("mds", "mds"),
    DATA("data", "dataserver"),
    MOUNT("mount", "mount"),
    EMBEDDED("embedded", "embedded");

    private static final Pattern FOLDER =
            Pattern.compile("(mds|data)-(\\d{1,3})|(mount)|(embedded)");

    private final String folder;
    private final String role;

    PartKind(String folder, String role) {
        this.folder = folder;
        this.role = role;
    }

    String role() {
        return role;
    }

    /** Folder of the part: {@code mds-1}, {@code data-3}, {@code mount}, {@code embedded}. */
    String folderName(int number) {
        return this == MDS || this == DATA ? folder + "-" + number : folder;
    }

    static Optional<PartKind> ofFolder(String name) {
        Matcher m = FOLDER.matcher(name);
        if (!m.matches()) {
            return Optional.empty();
        }
        for (PartKind kind : values()) {
            if (name.startsWith(kind.folder)) {
                return Optional.of(kind);
            }
        }
        return Optional.empty();
    }
}
