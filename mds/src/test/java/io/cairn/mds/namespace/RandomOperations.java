package io.cairn.mds.namespace;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.mds.namespace.ModelNamespace.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes random operations that do something more often than not, runs them on the model and, if
 * there is one, on a local file system, and gives them as mutations for the state.
 */
final class RandomOperations {
    private static final String[] NAMES = {"a", "b", "c", "d", "e", "f"};
    private static final int MOST_NODES = 150;

    /** A mutation and what the model (and the local file system) answered. */
    record Step(String what, Mutation.Builder mutation, Errno expected) {
        boolean isTruncate() {
            return mutation.getSetAttr().hasSize();
        }
    }

    private final Random random;
    private final ModelNamespace model;
    private final @Nullable LocalNamespace local;
    private List<Map.Entry<String, Node>> paths = List.of();

    RandomOperations(Random random, ModelNamespace model, @Nullable LocalNamespace local) {
        this.random = random;
        this.model = model;
        this.local = local;
    }

    Step next() {
        paths = new ArrayList<>(model.paths().entrySet());
        int kind = random.nextInt(paths.size() > MOST_NODES ? 10 : 20);
        return switch (kind) {
            case 0, 1, 2 -> remove(false);
            case 3, 4 -> remove(true);
            case 5, 6, 7 -> rename();
            case 8 -> truncate();
            case 9 -> xattr();
            case 10 -> chown();
            case 11 -> chmod();
            case 12, 13 -> link();
            case 14, 15, 16 -> make('d');
            case 17, 18 -> make('-');
            default -> make("lpsc".charAt(random.nextInt(4)));
        };
    }

    private Map.Entry<String, Node> any() {
        return paths.get(random.nextInt(paths.size()));
    }

    /** Mostly a directory; never a symbolic link, which a path would lead through. */
    private Map.Entry<String, Node> parent() {
        for (; ; ) {
            Map.Entry<String, Node> e = any();
            char type = e.getValue().type;
            if (type == 'd' || (type == '-' && random.nextInt(20) == 0)) {
                return e;
            }
        }
    }

    private String name() {
        return NAMES[random.nextInt(NAMES.length)];
    }

    private static String inside(Map.Entry<String, Node> parent, String name) {
        return (parent.getValue().parent == parent.getValue() ? "" : parent.getKey()) + "/" + name;
    }

    private Step step(
            String what, Mutation.Builder mutation, Errno expected, Supplier<Errno> local) {
        if (this.local != null) {
            assertThat(expected).as("model and local file system: " + what).isEqualTo(local.get());
        }
        mutation.setCredentials(Credentials.getDefaultInstance());
        return new Step(what, mutation, expected);
    }

    private LocalNamespace local() {
        if (local == null) {
            throw new IllegalStateException();
        }
        return local;
    }

    private Step make(char type) {
        Map.Entry<String, Node> parent = parent();
        String name = name();
        String path = inside(parent, name);
        long in = parent.getValue().id;
        int mode = random.nextInt(4) == 0 ? random.nextInt(010000) : 0755;
        Node node = new Node(type, type == 'l' ? 0777 : mode, 0, 0);
        return switch (type) {
            case 'd' -> {
                Errno errno = model.make(parent.getValue(), name, node);
                yield step(
                        "mkdir " + path,
                        Ops.mkdir(in, name, mode),
                        errno,
                        () -> {
                            Errno made = local().mkdir(path, mode & 01777);
                            // mkdir(2) takes no set-id bits; the protocol does.
                            return made == Errno.OK ? local().chmod(path, node.mode) : made;
                        });
            }
            case 'l' -> {
                node.target = "target " + random.nextInt(10);
                node.size = node.target.length();
                Errno errno = model.make(parent.getValue(), name, node);
                yield step(
                        "symlink " + path,
                        Ops.symlink(in, name, node.target),
                        errno,
                        () -> local().symlink(node.target, path));
            }
            default -> {
                int kind =
                        switch (type) {
                            case '-' -> Mode.REGULAR;
                            case 'p' -> Mode.FIFO;
                            case 's' -> Mode.SOCKET;
                            default -> Mode.CHARACTER_DEVICE;
                        };
                node.rdev = type == 'c' ? 1 << 8 | 3 : 0;
                Errno errno = model.make(parent.getValue(), name, node);
                yield step(
                        "mknod " + type + " " + path,
                        type == '-' && random.nextBoolean()
                                ? Ops.create(in, name, mode, true, false)
                                : Ops.mknod(in, name, kind | mode, node.rdev),
                        errno,
                        () -> local().mknod(path, kind | mode, node.rdev));
            }
        };
    }

    private Step link() {
        Map.Entry<String, Node> from = any();
        Map.Entry<String, Node> parent = parent();
        String name = name();
        String path = inside(parent, name);
        return step(
                "link " + from.getKey() + " " + path,
                Ops.link(from.getValue().id, parent.getValue().id, name),
                model.link(from.getValue(), parent.getValue(), name),
                () -> local().link(from.getKey(), path));
    }

    private Step remove(boolean directory) {
        Map.Entry<String, Node> parent = parent();
        String name = name();
        String path = inside(parent, name);
        long in = parent.getValue().id;
        return step(
                (directory ? "rmdir " : "unlink ") + path,
                directory ? Ops.rmdir(in, name) : Ops.unlink(in, name),
                model.remove(parent.getValue(), name, directory),
                () -> directory ? local().rmdir(path) : local().unlink(path));
    }

    private Step rename() {
        Map.Entry<String, Node> from = parent();
        Map.Entry<String, Node> to = random.nextInt(3) == 0 ? from : parent();
        String name = name();
        String newName = name();
        int flags = random.nextInt(2) == 0 ? 0 : random.nextInt(3);
        String path = inside(from, name);
        String newPath = inside(to, newName);
        return step(
                "rename " + path + " " + newPath + " flags " + flags,
                Ops.rename(from.getValue().id, name, to.getValue().id, newName, flags),
                model.rename(from.getValue(), name, to.getValue(), newName, flags),
                () -> local().rename(path, newPath, flags));
    }

    private Step chmod() {
        Map.Entry<String, Node> e = any();
        int mode = random.nextInt(010000);
        return step(
                "chmod " + e.getKey(),
                Ops.setAttr(SetAttrOp.newBuilder().setInode(e.getValue().id).setMode(mode)),
                model.chmod(e.getValue(), mode),
                () -> local().chmod(e.getKey(), mode));
    }

    private Step chown() {
        Map.Entry<String, Node> e = any();
        int uid = random.nextInt(3);
        int gid = random.nextInt(3);
        return step(
                "chown " + e.getKey(),
                Ops.setAttr(
                        SetAttrOp.newBuilder().setInode(e.getValue().id).setUid(uid).setGid(gid)),
                model.chown(e.getValue(), uid, gid),
                () -> local().chown(e.getKey(), uid, gid));
    }

    private Step truncate() {
        Map.Entry<String, Node> e = any();
        while (e.getValue().type == 'l' || e.getValue().type == 'c') {
            e = any();
        }
        String path = e.getKey();
        long size = random.nextInt(3) * (random.nextBoolean() ? 1000L : 1L << 33);
        return step(
                "truncate " + path + " " + size,
                Ops.truncate(e.getValue().id, size),
                model.truncate(e.getValue(), size),
                () -> localTruncate(path, size));
    }

    private Errno localTruncate(String path, long size) {
        Errno errno = local().truncate(path, size);
        // Opening a socket for truncation fails earlier than the truncation would.
        return errno == Errno.ENXIO ? Errno.EINVAL : errno;
    }

    private Step xattr() {
        Map.Entry<String, Node> e = any();
        while (e.getValue().type != '-' && e.getValue().type != 'd') {
            e = any();
        }
        String path = e.getKey();
        Node node = e.getValue();
        String name = "user." + name();
        if (random.nextInt(4) == 0) {
            return step(
                    "removexattr " + path,
                    Ops.removeXattr(node.id, name),
                    model.removeXattr(node, name),
                    () -> local().removeXattr(path, name));
        }
        String value = "v" + random.nextInt(1000);
        int flags = random.nextInt(3);
        return step(
                "setxattr " + path,
                Ops.setXattr(node.id, name, ByteString.copyFromUtf8(value), flags),
                model.setXattr(node, name, value, flags),
                () -> local().setXattr(path, name, value, flags));
    }
}
