package io.cairn.fuse.jnr;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.cairn.client.api.CairnClient;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.fuse.kernel.FuseOpcode;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import jnr.ffi.Pointer;
import jnr.ffi.Runtime;
import jnr.ffi.Struct;
import org.jspecify.annotations.Nullable;
import ru.serce.jnrfuse.struct.FileStat;

/**
 * Listing directories, by pieces: 0 is the start, 1 after ".", 2 after "..", cursor + 2 after the
 * entry of that cursor; cursors belong to names, so a listing stays right while entries come and
 * go. Any thread.
 */
final class DirectoryCalls {
    private static final int DOTS = 2;

    /** What one question to the MDS brings: about what the kernel asks for at once. */
    private static final int PIECE_BYTES = 32 << 10;

    private static final int STAT_BYTES = Struct.size(new FileStat(Runtime.getSystemRuntime()));

    /** fuse_fill_dir_t: 1 when there is no more room. */
    private static final FunctionDescriptor FILL =
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG);

    /** A name that fits into no buffer of the kernel. */
    private static final MemorySegment TOO_LONG = tooLong();

    private static final MethodHandle CALL_FILL = Linker.nativeLinker().downcallHandle(FILL);

    private final CairnClient client;
    private final Calls calls;
    private final Paths paths;
    private final HandleNumbers open;

    DirectoryCalls(CairnClient client, Calls calls, Paths paths, HandleNumbers open) {
        this.client = client;
        this.calls = calls;
        this.paths = paths;
        this.open = open;
    }

    private static MemorySegment tooLong() {
        int bytes = (1 << 20) + 4096;
        MemorySegment name = Arena.global().allocate(bytes);
        name.asSlice(0, bytes - 1).fill((byte) 'x');
        return name;
    }

    void enter(Table table) {
        table.put(table.opendir, Callbacks.OfNameAndPointer.class, this::opendir);
        table.put(table.readdir, Callbacks.ReadDir.class, this::readdir);
        table.put(table.releasedir, Callbacks.OfInfo.class, this::releasedir);
        table.put(table.fsyncdir, Callbacks.OfIntAndInfo.class, this::fsyncdir);
    }

    private int opendir(Pointer name, Pointer info) {
        String path = CStructs.string(name);
        return calls.run(
                FuseOpcode.OPENDIR,
                path,
                () -> {
                    CStructs.setHandle(info, open.addDirectory(paths.inode(path)));
                    return 0;
                });
    }

    private int releasedir(@Nullable Pointer name, Pointer info) {
        return calls.onHandle(
                FuseOpcode.RELEASEDIR,
                info,
                handle -> {
                    open.removeDirectory(handle);
                    return 0;
                });
    }

    /** Every operation on names is committed when it is answered. */
    private int fsyncdir(@Nullable Pointer name, int dataOnly, Pointer info) {
        return calls.onHandle(FuseOpcode.FSYNCDIR, info, handle -> 0);
    }

    private int readdir(
            @Nullable Pointer name, Pointer buffer, Pointer filler, long offset, Pointer info) {
        long handle = CStructs.handle(info);
        return calls.run(
                FuseOpcode.READDIR,
                "#" + handle + " from " + offset,
                () -> {
                    list(open.directory(handle), new Listing(filler, buffer), offset);
                    return 0;
                });
    }

    /** A directory that was removed while it is open is empty, without even ".". */
    private void list(long inode, Listing listing, long offset) {
        long cursor = Math.max(0, offset - DOTS);
        ReadDirReply entries;
        try {
            entries = calls.await(client.readDir(inode, cursor, PIECE_BYTES, false));
        } catch (FsException e) {
            if (e.errno() != Errno.ENOENT) {
                throw e;
            }
            listing.end();
            return;
        }
        boolean room = true;
        if (offset < 1) {
            room = listing.add(".", inode, Mode.DIRECTORY, 1);
        }
        if (offset < DOTS && room) {
            boolean root = inode == paths.rootInode() || entries.getParent() == 0;
            long parent = root ? inode : entries.getParent();
            room = listing.add("..", parent, Mode.DIRECTORY, DOTS);
        }
        for (int i = 0; room && i < entries.getEntriesCount(); i++) {
            room = listing.add(entries.getEntries(i));
        }
        if (offset >= DOTS && entries.getEntriesCount() == 0) {
            listing.end();
        }
    }

    /** Hands entries to libfuse. */
    private static final class Listing {
        private final MemorySegment filler;
        private final MemorySegment buffer;

        Listing(Pointer filler, Pointer buffer) {
            this.filler = MemorySegment.ofAddress(filler.address());
            this.buffer = MemorySegment.ofAddress(buffer.address());
        }

        boolean add(DirEntry entry) {
            if (entry.getCursor() <= 0 || entry.getCursor() > Long.MAX_VALUE - DOTS) {
                throw new FsException(Errno.EOVERFLOW, "directory cursor " + entry.getCursor());
            }
            return add(
                    entry.getName().toByteArray(),
                    entry.getInode(),
                    entry.getMode(),
                    entry.getCursor() + DOTS);
        }

        boolean add(String name, long inode, int mode, long next) {
            return add(CStructs.latin(name), inode, mode, next);
        }

        /** False where it does not fit. */
        private boolean add(byte[] name, long inode, int mode, long next) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment text = arena.allocate(name.length + 1L);
                MemorySegment.copy(name, 0, text, JAVA_BYTE, 0, name.length);
                MemorySegment stat = arena.allocate(STAT_BYTES, 8);
                CStructs.putEntry(stat, inode, mode);
                return fill(text, stat, next) == 0;
            }
        }

        /**
         * After the last piece. libfuse takes a call that adds nothing for a listing it has as a
         * whole, and answers from that, which is empty, when the program seeks back; an entry with
         * an offset tells it otherwise, also where it has no room for it.
         */
        void end() {
            var _ = fill(TOO_LONG, MemorySegment.NULL, Long.MAX_VALUE);
        }

        private int fill(MemorySegment name, MemorySegment stat, long next) {
            try {
                return (int) CALL_FILL.invokeExact(filler, buffer, name, stat, next);
            } catch (Throwable e) {
                throw new IllegalStateException("fuse_fill_dir_t", e);
            }
        }
    }
}
