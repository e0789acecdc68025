package io.cairn.fuse.jnr;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.cairn.client.api.CairnClient;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.fuse.kernel.FuseOpcode;
import java.lang.foreign.MemorySegment;
import jnr.ffi.Pointer;

/** Names: looking up, making, linking, moving and removing them. Any thread. */
final class NameCalls {
    private final CairnClient client;
    private final Calls calls;
    private final Paths paths;

    NameCalls(CairnClient client, Calls calls, Paths paths) {
        this.client = client;
        this.calls = calls;
        this.paths = paths;
    }

    void enter(Table table) {
        table.put(table.getattr, Callbacks.OfNameAndPointer.class, this::getattr);
        table.put(table.readlink, Callbacks.OfNameAndBuffer.class, this::readlink);
        table.put(table.mknod, Callbacks.OfNameIntAndLong.class, this::mknod);
        table.put(table.mkdir, Callbacks.OfNameAndInt.class, this::mkdir);
        table.put(table.symlink, Callbacks.OfNameAndPointer.class, this::symlink);
        table.put(table.link, Callbacks.OfNameAndPointer.class, this::link);
        table.put(table.unlink, Callbacks.OfName.class, this::unlink);
        table.put(table.rmdir, Callbacks.OfName.class, this::rmdir);
        table.put(table.rename, Callbacks.OfNameAndPointer.class, this::rename);
    }

    /** Both stat(2) and every look-up of the kernel. */
    private int getattr(Pointer name, Pointer stat) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.GETATTR,
                path,
                () -> {
                    CStructs.putStat(stat, paths.attributes(path));
                    return 0;
                });
    }

    /** Cut to the buffer, and ended by a NUL. */
    private int readlink(Pointer name, Pointer buffer, long size) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.READLINK,
                path,
                () -> {
                    byte[] target = calls.await(client.readLink(paths.inode(path)));
                    int length = (int) Math.min(target.length, size - 1);
                    MemorySegment out = CStructs.memory(buffer, size);
                    MemorySegment.copy(target, 0, out, JAVA_BYTE, 0, length);
                    out.set(JAVA_BYTE, length, (byte) 0);
                    return 0;
                });
    }

    private int mknod(Pointer name, int mode, long device) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.MKNOD,
                path,
                () -> {
                    Paths.Place place = paths.place(path);
                    Attr made =
                            calls.await(
                                    client.mknod(
                                            place.parent(),
                                            place.bytes(),
                                            mode,
                                            (int) device,
                                            calls.credentials()));
                    return made(place, made);
                });
    }

    private int mkdir(Pointer name, int mode) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.MKDIR,
                path,
                () -> {
                    Paths.Place place = paths.place(path);
                    Attr made =
                            calls.await(
                                    client.mkdir(
                                            place.parent(),
                                            place.bytes(),
                                            Mode.DIRECTORY | Mode.permissions(mode),
                                            calls.credentials()));
                    return made(place, made);
                });
    }

    private int symlink(Pointer target, Pointer name) {
        String path = CStructs.string(name);
        byte[] says = CStructs.bytes(target);
        return calls.run(
                FuseOpcode.SYMLINK,
                path,
                () -> {
                    Paths.Place place = paths.place(path);
                    Attr made =
                            calls.await(
                                    client.symlink(
                                            place.parent(),
                                            place.bytes(),
                                            says,
                                            calls.credentials()));
                    return made(place, made);
                });
    }

    private int link(Pointer old, Pointer name) {
        String path = CStructs.string(name);
        String from = CStructs.string(old);
        return calls.run(
                FuseOpcode.LINK,
                path,
                () -> {
                    long inode = paths.inode(from);
                    Paths.Place place = paths.place(path);
                    Attr made = calls.await(client.link(inode, place.parent(), place.bytes()));
                    return made(place, made);
                });
    }

    private int made(Paths.Place place, Attr attr) {
        paths.known(place, attr.getInode());
        return 0;
    }

    private int unlink(Pointer name) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.UNLINK,
                path,
                () -> {
                    Paths.Place place = paths.place(path);
                    calls.await(client.unlink(place.parent(), place.bytes()));
                    paths.forget(place);
                    return 0;
                });
    }

    private int rmdir(Pointer name) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.RMDIR,
                path,
                () -> {
                    Paths.Place place = paths.place(path);
                    calls.await(client.rmdir(place.parent(), place.bytes()));
                    paths.forget(place);
                    return 0;
                });
    }

    private int rename(Pointer name, Pointer newName) {
        String from = CStructs.string(name);
        String to = CStructs.string(newName);
        return calls.run(
                FuseOpcode.RENAME,
                from,
                () -> {
                    Paths.Place old = paths.place(from);
                    Paths.Place place = paths.place(to);
                    calls.await(
                            client.rename(
                                    old.parent(), old.bytes(), place.parent(), place.bytes(), 0));
                    paths.moved(old, place);
                    return 0;
                });
    }
}
