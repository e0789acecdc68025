package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A POSIX namespace in the simplest form that is right: objects that point at each other. Nothing
 * is shared with the code it is compared to.
 */
final class ModelNamespace {
    /** A file of any type; directories have children. */
    static final class Node {
        long id;
        final char type;
        int mode;
        int uid;
        int gid;
        int names = 1;
        long size;
        int rdev;
        String target = "";
        @Nullable Node parent;
        final TreeMap<String, Node> children = new TreeMap<>();
        final TreeMap<String, String> xattrs = new TreeMap<>();

        Node(char type, int mode, int uid, int gid) {
            this.type = type;
            this.mode = mode;
            this.uid = uid;
            this.gid = gid;
        }

        boolean isDirectory() {
            return type == 'd';
        }

        int nlink() {
            return isDirectory()
                    ? 2 + (int) children.values().stream().filter(Node::isDirectory).count()
                    : names;
        }
    }

    final Node root = new Node('d', 0755, 0, 0);

    /** Ids are given in order: the state must give the same. */
    private long lastId = NamespaceReader.ROOT_INODE;

    ModelNamespace() {
        root.parent = root;
        root.id = lastId;
    }

    /** Makes a node of a type in a directory, or says why not. */
    Errno make(Node parent, String name, Node made) {
        if (!parent.isDirectory()) {
            return Errno.ENOTDIR;
        }
        if (parent.children.containsKey(name)) {
            return Errno.EEXIST;
        }
        if ((parent.mode & 02000) != 0) {
            made.gid = parent.gid;
            made.mode |= made.isDirectory() ? 02000 : 0;
        }
        made.id = ++lastId;
        made.parent = parent;
        parent.children.put(name, made);
        return Errno.OK;
    }

    Errno link(Node node, Node parent, String name) {
        if (!parent.isDirectory()) {
            return Errno.ENOTDIR;
        }
        if (parent.children.containsKey(name)) {
            return Errno.EEXIST;
        }
        if (node.isDirectory()) {
            return Errno.EPERM;
        }
        node.names++;
        parent.children.put(name, node);
        return Errno.OK;
    }

    Errno remove(Node parent, String name, boolean directory) {
        if (!parent.isDirectory()) {
            return Errno.ENOTDIR;
        }
        Node node = parent.children.get(name);
        if (node == null) {
            return Errno.ENOENT;
        }
        if (directory != node.isDirectory()) {
            return directory ? Errno.ENOTDIR : Errno.EISDIR;
        }
        if (!node.children.isEmpty()) {
            return Errno.ENOTEMPTY;
        }
        node.names--;
        parent.children.remove(name);
        return Errno.OK;
    }

    Errno rename(Node from, String name, Node to, String newName, int flags) {
        if (!from.isDirectory() || !to.isDirectory()) {
            return Errno.ENOTDIR;
        }
        Node source = from.children.get(name);
        Node target = to.children.get(newName);
        if (source == null) {
            return Errno.ENOENT;
        }
        if (flags == Rename.NO_REPLACE && target != null) {
            return Errno.EEXIST;
        }
        if (flags == Rename.EXCHANGE && target == null) {
            return Errno.ENOENT;
        }
        if (from != to && above(source, to)) {
            return Errno.EINVAL;
        }
        if (from != to && target != null && above(target, from)) {
            return flags == Rename.EXCHANGE ? Errno.EINVAL : Errno.ENOTEMPTY;
        }
        if (source == target) {
            return Errno.OK;
        }
        if (target != null && flags != Rename.EXCHANGE) {
            if (source.isDirectory() != target.isDirectory()) {
                return source.isDirectory() ? Errno.ENOTDIR : Errno.EISDIR;
            }
            if (!target.children.isEmpty()) {
                return Errno.ENOTEMPTY;
            }
            target.names--;
        }
        from.children.remove(name);
        to.children.put(newName, source);
        source.parent = to;
        if (target != null && flags == Rename.EXCHANGE) {
            from.children.put(name, target);
            target.parent = from;
        }
        return Errno.OK;
    }

    private boolean above(Node outer, Node inner) {
        for (Node at = inner; ; at = Objects.requireNonNull(at.parent)) {
            if (at == outer) {
                return true;
            }
            if (at == root) {
                return false;
            }
        }
    }

    Errno chmod(Node node, int mode) {
        if (node.type == 'l') {
            return Errno.EOPNOTSUPP;
        }
        node.mode = mode;
        return Errno.OK;
    }

    Errno chown(Node node, int uid, int gid) {
        node.uid = uid;
        node.gid = gid;
        if (!node.isDirectory()) {
            node.mode &= (node.mode & 010) != 0 ? ~06000 : ~04000;
        }
        return Errno.OK;
    }

    Errno truncate(Node node, long size) {
        if (node.type != '-') {
            return node.isDirectory() ? Errno.EISDIR : Errno.EINVAL;
        }
        node.size = size;
        return Errno.OK;
    }

    Errno setXattr(Node node, String name, String value, int flags) {
        boolean present = node.xattrs.containsKey(name);
        if (present && flags == ExtendedAttributes.CREATE) {
            return Errno.EEXIST;
        }
        if (!present && flags == ExtendedAttributes.REPLACE) {
            return Errno.ENODATA;
        }
        node.xattrs.put(name, value);
        return Errno.OK;
    }

    Errno removeXattr(Node node, String name) {
        return node.xattrs.remove(name) == null ? Errno.ENODATA : Errno.OK;
    }

    /** Every node that has a name, with one of its paths, in order. */
    Map<String, Node> paths() {
        Map<String, Node> paths = new TreeMap<>();
        collect("", root, paths);
        return paths;
    }

    private static void collect(String path, Node node, Map<String, Node> into) {
        into.put(path.isEmpty() ? "/" : path, node);
        node.children.forEach((name, child) -> collect(path + "/" + name, child, into));
    }

    /** The whole tree, a line per name. */
    List<String> describe() {
        List<String> lines = new ArrayList<>();
        Map<String, Node> paths = paths();
        paths.forEach((path, n) ->
                lines.add(
                        line(
                                path,
                                n.type,
                                n.mode,
                                n.nlink(),
                                n.uid,
                                n.gid,
                                n.isDirectory() ? 0 : n.size,
                                n.rdev,
                                n.target,
                                n.xattrs,
                                new TreeSet<>(
                                        paths.entrySet().stream()
                                                .filter(e -> e.getValue() == n)
                                                .map(Map.Entry::getKey)
                                                .toList()))));
        return lines;
    }

    static String line(
            String path,
            char type,
            int mode,
            int nlink,
            int uid,
            int gid,
            long size,
            int rdev,
            String target,
            Map<String, String> xattrs,
            SortedSet<String> sameInode) {
        return "%s %c%o nlink=%d %d:%d size=%d rdev=%x '%s' %s same=%s"
                .formatted(
                        path, type, mode, nlink, uid, gid, size, rdev, target, xattrs, sameInode);
    }
}
