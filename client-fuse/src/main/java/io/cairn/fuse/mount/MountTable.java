package io.cairn.fuse.mount;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** What /proc/self/mountinfo says, which the kernel answers without asking any file system. */
final class MountTable {
    static final String TYPE = "fuse.cairn";

    /**
     * A line of it.
     *
     * @param device major:minor
     * @param options of the mount and of its file system, joined by a comma
     */
    record Entry(String device, String type, String source, String options) {
        boolean isCairn() {
            return type.equals(TYPE);
        }
    }

    private MountTable() {}

    /** The topmost mount at exactly this absolute path. */
    static @Nullable Entry at(Path mountPoint) throws MountException {
        String table;
        try {
            // One byte per character: paths are bytes.
            table = Files.readString(Path.of("/proc/self/mountinfo"), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new MountException("/proc/self/mountinfo cannot be read: is /proc mounted?", e);
        }
        return find(table, mountPoint.toString());
    }

    /** Fields 5 and 6 are mount point and options; after " - " come type, source and options. */
    static @Nullable Entry find(String table, String mountPoint) {
        String wanted =
                new String(
                        mountPoint.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        @Nullable Entry found = null;
        for (String line : table.split("\n", -1)) {
            int separator = line.indexOf(" - ");
            String[] before = line.split(" ", 7);
            if (separator > 0 && before.length == 7 && unescape(before[4]).equals(wanted)) {
                String[] after = line.substring(separator + 3).split(" ", 3);
                String options = before[5] + "," + after[2];
                found = new Entry(before[2], after[0], unescape(after[1]), options);
            }
        }
        return found;
    }

    /** Blank, tab, newline and backslash stand there as backslash and three octal digits. */
    private static String unescape(String field) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            if (c == '\\' && i + 3 < field.length()) {
                text.append((char) Integer.parseInt(field.substring(i + 1, i + 4), 8));
                i += 3;
            } else {
                text.append(c);
            }
        }
        return text.toString();
    }
}
