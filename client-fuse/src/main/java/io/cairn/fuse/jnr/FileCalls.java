package io.cairn.fuse.jnr;

import static java.util.Objects.requireNonNull;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.fuse.kernel.OpenFlag;
import io.cairn.fuse.op.Allocation;
import io.cairn.fuse.session.RequestBuffers;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.CompletableFuture;
import jnr.ffi.Pointer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Open files, by their handles and never by path. Any thread. */
final class FileCalls {
    private static final Logger LOG = LoggerFactory.getLogger(FileCalls.class);

    private final CairnClient client;
    private final Calls calls;
    private final Paths paths;
    private final HandleNumbers open;
    private final RequestBuffers buffers;
    private final JnrOptions options;

    FileCalls(
            CairnClient client,
            Calls calls,
            Paths paths,
            HandleNumbers open,
            RequestBuffers buffers,
            JnrOptions options) {
        this.client = client;
        this.calls = calls;
        this.paths = paths;
        this.open = open;
        this.buffers = buffers;
        this.options = options;
    }

    void enter(Table table) {
        table.put(table.open, Callbacks.OfNameAndPointer.class, this::open);
        table.put(table.create, Callbacks.OfIntAndInfo.class, this::create);
        table.put(table.read, Callbacks.OfData.class, this::read);
        table.put(table.write, Callbacks.OfData.class, this::write);
        table.put(table.fsync, Callbacks.OfIntAndInfo.class, this::fsync);
        table.put(table.flush, Callbacks.OfInfo.class, this::flush);
        table.put(table.release, Callbacks.OfInfo.class, this::release);
        table.put(table.fgetattr, Callbacks.OfStructureAndInfo.class, this::fgetattr);
        table.put(table.ftruncate, Callbacks.OfLongAndInfo.class, this::ftruncate);
        table.put(table.fallocate, Callbacks.Allocate.class, this::fallocate);
    }

    private int open(Pointer name, Pointer info) {
        String path = CStructs.string(name);
        int flags = CStructs.openFlags(info);
        return calls.run(
                FuseOpcode.OPEN,
                path,
                () -> {
                    long inode = paths.inode(path);
                    return opened(open(inode, flags), flags, info);
                });
    }

    /** ESTALE makes the kernel walk the path again: another file may be there now. */
    private OpenFile open(long inode, int flags) {
        try {
            boolean reads = (flags & OpenFlag.O_ACCMODE) == OpenFlag.O_RDONLY;
            return calls.await(
                    reads ? client.openForReading(inode) : client.open(inode, appends(flags)),
                    FileCalls::abandon);
        } catch (FsException e) {
            if (e.errno() == Errno.ENOENT) {
                throw new FsException(Errno.ESTALE, "another client has removed the file");
            }
            throw e;
        }
    }

    /**
     * Always exclusive, as the kernel thought the name free and has checked no permission on what
     * another client may have made there. ESTALE makes it walk the path again.
     */
    private int create(@Nullable Pointer name, int mode, Pointer info) {
        String path = CStructs.string(requireNonNull(name));
        int flags = CStructs.openFlags(info);
        return calls.run(
                FuseOpcode.CREATE,
                path,
                () -> {
                    Paths.Place place = paths.place(path);
                    OpenFile file = create(place, mode, flags);
                    paths.known(place, file.inode());
                    return opened(file, flags, info);
                });
    }

    private OpenFile create(Paths.Place place, int mode, int flags) {
        try {
            return calls.await(
                    client.create(
                            place.parent(),
                            place.bytes(),
                            Mode.REGULAR | Mode.permissions(mode),
                            true,
                            appends(flags),
                            calls.credentials()),
                    FileCalls::abandon);
        } catch (FsException e) {
            if (e.errno() == Errno.EEXIST && (flags & OpenFlag.O_EXCL) == 0) {
                throw new FsException(Errno.ESTALE, "another client has made the name");
            }
            throw e;
        }
    }

    /**
     * The kernel's pages are of a path, not of an inode: two names of one file would have two
     * caches, and a file that another client has replaced would share one with its successor.
     * Without the cache each handle reads and writes its own file, whatever name it has.
     */
    private int opened(OpenFile file, int flags, Pointer info) {
        CStructs.setHandle(info, open.add(file));
        if (!options.pageCache() || appends(flags) || (flags & OpenFlag.O_DIRECT) != 0) {
            CStructs.setDirectIo(info);
        }
        return 0;
    }

    private static boolean appends(int flags) {
        return (flags & OpenFlag.O_APPEND) != 0
                && (flags & OpenFlag.O_ACCMODE) != OpenFlag.O_RDONLY;
    }

    private static void abandon(OpenFile file) {
        var _ =
                file.release()
                        .exceptionally(failure -> {
                            LOG.warn("closing a file whose open was interrupted", failure);
                            return null;
                        });
    }

    private int read(@Nullable Pointer name, Pointer buffer, long size, long offset, Pointer info) {
        return calls.onHandle(
                FuseOpcode.READ,
                info,
                handle -> {
                    ByteBuf data =
                            calls.await(
                                    open.file(handle).read(offset, (int) size), ByteBuf::release);
                    try {
                        int length = data.readableBytes();
                        data.readBytes(CStructs.memory(buffer, length).asByteBuffer());
                        return length;
                    } finally {
                        data.release();
                    }
                });
    }

    /** Where the mount or the file asks for it, size and mtime are published first. */
    private int write(
            @Nullable Pointer name, Pointer buffer, long size, long offset, Pointer info) {
        return calls.onHandle(
                FuseOpcode.WRITE,
                info,
                handle -> {
                    OpenFile file = open.file(handle);
                    int flags = CStructs.openFlags(info);
                    int length = (int) size;
                    boolean kill = calls.writeKillsPrivileges();
                    client.slowDown();
                    ByteBuf data = buffers.answer(length);
                    data.writeBytes(CStructs.memory(buffer, length).asByteBuffer());
                    if ((flags & OpenFlag.O_APPEND) != 0 && !CStructs.isPageWrittenBack(info)) {
                        boolean goesOn = length == JnrSession.MAX_IO_BYTES;
                        var _ = calls.await(file.append(data, kill, goesOn));
                    } else {
                        calls.await(file.write(offset, data, kill));
                    }
                    if (options.wsync()) {
                        calls.await(file.flush());
                    } else if ((flags & OpenFlag.O_DSYNC) != 0) {
                        calls.await(file.fsync());
                    }
                    return length;
                });
    }

    private int fsync(@Nullable Pointer name, int dataOnly, Pointer info) {
        return calls.onHandle(
                FuseOpcode.FSYNC,
                info,
                handle -> {
                    calls.await(open.file(handle).fsync());
                    return 0;
                });
    }

    private int flush(@Nullable Pointer name, Pointer info) {
        return calls.onHandle(
                FuseOpcode.FLUSH,
                info,
                handle -> {
                    calls.await(open.file(handle).flush());
                    return 0;
                });
    }

    private int release(@Nullable Pointer name, Pointer info) {
        return calls.onHandle(
                FuseOpcode.RELEASE,
                info,
                handle -> {
                    calls.await(open.remove(handle).release());
                    return 0;
                });
    }

    private int fgetattr(@Nullable Pointer name, Pointer stat, Pointer info) {
        return calls.onHandle(
                FuseOpcode.GETATTR,
                info,
                handle -> {
                    long inode = open.file(handle).inode();
                    CStructs.putStat(stat, calls.await(client.getAttr(inode)));
                    return 0;
                });
    }

    private int ftruncate(@Nullable Pointer name, long size, Pointer info) {
        return calls.onHandle(
                FuseOpcode.SETATTR,
                info,
                handle -> {
                    long inode = open.file(handle).inode();
                    SetAttrOp op = SetAttrOp.newBuilder().setInode(inode).setSize(size).build();
                    var _ = calls.await(client.setAttr(op, calls.credentials()));
                    return 0;
                });
    }

    private int fallocate(
            @Nullable Pointer name, int mode, long offset, long length, Pointer info) {
        return calls.onHandle(
                FuseOpcode.FALLOCATE,
                info,
                handle -> {
                    CompletableFuture<Void> done =
                            new Allocation(
                                            client,
                                            open.file(handle),
                                            buffers,
                                            options.wsync(),
                                            () -> false,
                                            mode,
                                            offset,
                                            length)
                                    .start();
                    calls.await(done);
                    return 0;
                });
    }
}
