package io.cairn.fuse.op;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.fuse.kernel.AttrFormat;
import io.cairn.fuse.kernel.DirentFormat;
import io.cairn.fuse.kernel.FileFormat;
import io.cairn.fuse.op.KernelLeases.Asked;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBody;
import io.netty.buffer.ByteBuf;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Listing directories. Any thread. Of an open directory only {@link OpenDirectories} knows, for
 * when it is removed; the offset says where to go on. 0 is the start, 1 after ".", 2 after "..",
 * cursor + 2 after the entry of that cursor; cursors belong to names, so a listing stays right
 * while entries come and go.
 */
final class DirectoryOperations {
    private static final byte[] DOT = {'.'};
    private static final byte[] DOT_DOT = {'.', '.'};
    private static final int DOTS = 2;

    private final MountContext mount;

    DirectoryOperations(MountContext mount) {
        this.mount = mount;
    }

    void opendir(FuseRequest request, RequestBody body) {
        long inode = mount.inode(request);
        Attr seen = mount.directories().seen(inode);
        CompletableFuture<Attr> attr =
                seen != null
                        ? CompletableFuture.completedFuture(seen)
                        : mount.client().getAttr(inode);
        mount.then(request, MountContext.ofInode(attr), known -> replyOpen(request, known));
    }

    private void replyOpen(FuseRequest request, Attr attr) {
        mount.directories().opened(attr);
        ReplyBuffer reply = ReplyBuffer.ofThread();
        FileFormat.putOpenOut(reply.body(), 0, 0, 0);
        if (!request.reply(reply, FileFormat.OPEN_OUT_SIZE)) {
            mount.directories().closed(attr.getInode()); // nobody waits, nobody will close it
        }
    }

    void releasedir(FuseRequest request, RequestBody body) {
        mount.directories().closed(mount.inode(request));
        request.replyEmpty();
    }

    void fsyncdir(FuseRequest request, RequestBody body) {
        mount.thenEmpty(request, mount.client().syncDirectory(mount.inode(request)));
    }

    void readdir(FuseRequest request, RequestBody body) {
        list(request, body, false);
    }

    void readdirplus(FuseRequest request, RequestBody body) {
        list(request, body, true);
    }

    private void list(FuseRequest request, RequestBody body, boolean plus) {
        long offset = FileFormat.offset(body.segment());
        int size = FileFormat.size(body.segment());
        if (size < 0 || size > mount.buffers().answerMaximumBytes() || offset < 0) {
            request.fail(Errno.EINVAL);
            return;
        }
        long inode = mount.inode(request);
        long cursor = Math.max(0, offset - DOTS);
        Asked asked = mount.leases().asked();
        var _ =
                mount.client()
                        .readDir(inode, cursor, size, plus)
                        .whenComplete((entries, failure) -> {
                            if (failure == null) {
                                answer(request, asked, inode, offset, size, plus, entries);
                            } else if (mount.directories().ofRemoved(inode, failure) != null) {
                                request.replyEmpty(); // the end: it has not even "." any more
                            } else {
                                request.fail(failure);
                            }
                        });
    }

    private void answer(
            FuseRequest request,
            Asked asked,
            long inode,
            long offset,
            int size,
            boolean plus,
            ReadDirReply entries) {
        try {
            var _ =
                    mount.leases()
                            .answer(() ->
                                    reply(request, asked, inode, offset, size, plus, entries));
        } catch (RuntimeException e) {
            request.fail(e);
        }
    }

    private boolean reply(
            FuseRequest request,
            Asked asked,
            long inode,
            long offset,
            int size,
            boolean plus,
            ReadDirReply entries) {
        ByteBuf answer = mount.buffers().answer(size);
        Listing listing = new Listing(answer, size, plus, asked, inode);
        boolean room = true;
        if (offset < 1) {
            room = listing.add(DOT, inode, 1, Mode.DIRECTORY, null);
        }
        if (offset < DOTS && room) {
            boolean root = inode == mount.nodes().rootInode() || entries.getParent() == 0;
            long parent = root ? inode : entries.getParent();
            room = listing.add(DOT_DOT, parent, DOTS, Mode.DIRECTORY, null);
        }
        for (int i = 0; room && i < entries.getEntriesCount(); i++) {
            room = listing.add(entries.getEntries(i));
        }
        if (!room && listing.at == 0) {
            answer.release();
            return request.fail(Errno.EINVAL);
        }
        return request.reply(answer.writerIndex(listing.at));
    }

    /** Entries packed into an answer until it is full. */
    private final class Listing {
        private final MemorySegment out;
        private final int size;
        private final boolean plus;
        private final Asked asked;
        private final long directory;
        private int at;

        Listing(ByteBuf answer, int size, boolean plus, Asked asked, long directory) {
            this.out = MemorySegment.ofBuffer(answer.nioBuffer(0, size));
            this.size = size;
            this.plus = plus;
            this.asked = asked;
            this.directory = directory;
        }

        boolean add(DirEntry entry) {
            if (entry.getCursor() <= 0 || entry.getCursor() > Long.MAX_VALUE - DOTS) {
                throw new FsException(Errno.EOVERFLOW, "directory cursor " + entry.getCursor());
            }
            return add(
                    entry.getName().toByteArray(),
                    entry.getInode(),
                    entry.getCursor() + DOTS,
                    entry.getMode(),
                    entry.hasAttr() ? entry.getAttr() : null);
        }

        /** False where it does not fit. */
        boolean add(byte[] name, long inode, long next, int mode, @Nullable Attr attr) {
            int bytes =
                    plus ? DirentFormat.plusBytes(name.length) : DirentFormat.bytes(name.length);
            if (bytes > size - at) {
                return false;
            }
            int entryAt = at;
            if (plus) {
                putAttributes(name, attr);
                entryAt += AttrFormat.ENTRY_OUT_SIZE;
            }
            DirentFormat.put(out, entryAt, inode, next, mode, name);
            at += bytes;
            return true;
        }

        private void putAttributes(byte[] name, @Nullable Attr attr) {
            if (attr == null) {
                DirentFormat.putNoAttributes(out, at);
                return;
            }
            AttrFormat.putEntryOut(
                    out,
                    at,
                    mount.nodes().node(attr),
                    attr,
                    mount.leases().nameNanos(asked, directory, name, attr.getNameLeaseMicros()),
                    mount.leases().attrNanos(asked, attr));
            mount.told(attr);
        }
    }
}
