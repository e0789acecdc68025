package io.cairn.mds.namespace;

import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.ReadDirReply;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Whole trees as lines of text, in the form of {@link ModelNamespace#describe}. */
final class Trees {
    private Trees() {}

    static List<String> describe(NamespaceReader state) {
        Map<String, Attr> paths = new TreeMap<>();
        collect(state, "", state.getAttr(NamespaceReader.ROOT_INODE), paths);
        Map<Long, TreeSet<String>> names = new HashMap<>();
        paths.forEach((path, attr) ->
                names.computeIfAbsent(attr.getInode(), i -> new TreeSet<>()).add(path));
        List<String> lines = new ArrayList<>();
        paths.forEach((path, a) -> {
            Map<String, String> xattrs = new TreeMap<>();
            state.listXattr(a.getInode())
                    .forEach(name ->
                            xattrs.put(
                                    name.toStringUtf8(),
                                    state.getXattr(a.getInode(), name).toStringUtf8()));
            boolean link = Mode.isSymlink(a.getMode());
            lines.add(
                    ModelNamespace.line(
                            path,
                            type(a.getMode()),
                            a.getMode() & Mode.PERMISSIONS,
                            a.getNlink(),
                            a.getUid(),
                            a.getGid(),
                            Mode.isDirectory(a.getMode()) ? 0 : a.getSize(),
                            a.getRdev(),
                            link ? state.readLink(a.getInode()).toStringUtf8() : "",
                            xattrs,
                            names.getOrDefault(a.getInode(), new TreeSet<>())));
        });
        return lines;
    }

    private static void collect(
            NamespaceReader state, String path, Attr attr, Map<String, Attr> into) {
        into.put(path.isEmpty() ? "/" : path, attr);
        if (!Mode.isDirectory(attr.getMode())) {
            return;
        }
        long cursor = 0;
        for (boolean end = false; !end; ) {
            ReadDirReply reply = state.readDir(attr.getInode(), cursor, 300, true);
            for (DirEntry entry : reply.getEntriesList()) {
                cursor = entry.getCursor();
                collect(
                        state,
                        path + "/" + entry.getName().toStringUtf8(),
                        state.lookup(attr.getInode(), entry.getName()),
                        into);
                if (!state.lookup(attr.getInode(), entry.getName()).equals(entry.getAttr())) {
                    throw new AssertionError(path + ": lookup and readdir differ: " + entry);
                }
            }
            end = reply.getEnd();
        }
    }

    static List<String> describe(Path root) throws IOException {
        Map<String, Path> paths = new TreeMap<>();
        try (Stream<Path> all = Files.walk(root)) {
            all.forEach(p -> paths.put(p.equals(root) ? "/" : "/" + root.relativize(p), p));
        }
        Map<Object, TreeSet<String>> names = new HashMap<>();
        for (Map.Entry<String, Path> e : paths.entrySet()) {
            names.computeIfAbsent(attribute(e.getValue(), "ino"), i -> new TreeSet<>())
                    .add(e.getKey());
        }
        List<String> lines = new ArrayList<>();
        for (Map.Entry<String, Path> e : paths.entrySet()) {
            Path p = e.getValue();
            int mode = (int) attribute(p, "mode");
            lines.add(
                    ModelNamespace.line(
                            e.getKey(),
                            type(mode),
                            mode & Mode.PERMISSIONS,
                            (int) attribute(p, "nlink"),
                            (int) attribute(p, "uid"),
                            (int) attribute(p, "gid"),
                            Mode.isDirectory(mode) ? 0 : (long) attribute(p, "size"),
                            ((Long) attribute(p, "rdev")).intValue(),
                            Mode.isSymlink(mode) ? Files.readSymbolicLink(p).toString() : "",
                            xattrs(p, mode),
                            names.getOrDefault(attribute(p, "ino"), new TreeSet<>())));
        }
        return lines;
    }

    private static Map<String, String> xattrs(Path path, int mode) throws IOException {
        Map<String, String> found = new TreeMap<>();
        if (Mode.isDirectory(mode) || Mode.isRegular(mode)) {
            UserDefinedFileAttributeView view =
                    Files.getFileAttributeView(path, UserDefinedFileAttributeView.class);
            for (String name : view.list()) {
                ByteBuffer value = ByteBuffer.allocate(view.size(name));
                view.read(name, value);
                found.put("user." + name, StandardCharsets.UTF_8.decode(value.flip()).toString());
            }
        }
        return found;
    }

    private static Object attribute(Path path, String name) throws IOException {
        return Files.getAttribute(path, "unix:" + name, LinkOption.NOFOLLOW_LINKS);
    }

    private static char type(int mode) {
        return switch (Mode.type(mode)) {
            case Mode.DIRECTORY -> 'd';
            case Mode.REGULAR -> '-';
            case Mode.SYMLINK -> 'l';
            case Mode.FIFO -> 'p';
            case Mode.SOCKET -> 's';
            case Mode.CHARACTER_DEVICE -> 'c';
            default -> '?';
        };
    }
}
