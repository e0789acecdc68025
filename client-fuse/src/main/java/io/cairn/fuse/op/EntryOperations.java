package io.cairn.fuse.op;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.fuse.kernel.NameFormat;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.RequestBody;
import io.netty.buffer.Unpooled;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/** Names: looking up, making, linking, moving and removing them. Any thread. */
final class EntryOperations {
    private static final int RENAME_NOREPLACE = 1;
    private static final int RENAME_EXCHANGE = 2;

    private final MountContext mount;
    private final FileHandles handles;
    private final Subtree subtree;

    EntryOperations(MountContext mount, FileHandles handles) {
        this.mount = mount;
        this.handles = handles;
        this.subtree = new Subtree(mount.client(), mount.nodes());
    }

    void lookup(FuseRequest request, RequestBody body) {
        byte[] name = body.string(0);
        long parent = mount.inode(request);
        CompletableFuture<Attr> found =
                isDot(name) || isDotDot(name)
                        ? reconnect(parent, isDotDot(name))
                        : mount.walks().lookup(request.pid(), parent, name);
        mount.then(request, found, attr -> mount.replyEntry(request, attr));
    }

    /** "." of any inode, ".." of a directory: the kernel asks for them only to follow a handle. */
    private CompletableFuture<Attr> reconnect(long inode, boolean up) {
        boolean above = up && inode != mount.nodes().rootInode();
        CompletableFuture<Attr> found =
                above
                        ? mount.client().lookup(inode, new byte[] {'.', '.'})
                        : mount.client().getAttr(inode).thenApply(this::requireUsed);
        return found.thenCompose(subtree::require);
    }

    private Attr requireUsed(Attr attr) {
        if (mount.isUnused(attr, handles)) {
            throw new FsException(Errno.ESTALE, "removed, and closed here");
        }
        return attr;
    }

    private static boolean isDot(byte[] name) {
        return name.length == 1 && name[0] == '.';
    }

    private static boolean isDotDot(byte[] name) {
        return name.length == 2 && name[0] == '.' && name[1] == '.';
    }

    void mknod(FuseRequest request, RequestBody body) {
        MemorySegment in = body.segment();
        CompletableFuture<Attr> made =
                mount.client()
                        .mknod(
                                mount.inode(request),
                                body.string(NameFormat.MKNOD_SIZE),
                                NameFormat.mknodMode(in),
                                NameFormat.mknodRdev(in),
                                MountContext.credentials(request));
        mount.then(request, made, attr -> mount.replyEntry(request, attr));
    }

    void mkdir(FuseRequest request, RequestBody body) {
        int mode = NameFormat.mkdirMode(body.segment());
        CompletableFuture<Attr> made =
                mount.client()
                        .mkdir(
                                mount.inode(request),
                                body.string(NameFormat.MKDIR_SIZE),
                                Mode.DIRECTORY | Mode.permissions(mode),
                                MountContext.credentials(request));
        mount.then(request, made, attr -> mount.replyEntry(request, attr));
    }

    /** The new name comes first, then what the link says. */
    void symlink(FuseRequest request, RequestBody body) {
        byte[] name = body.string(0);
        byte[] target = body.string(name.length + 1L);
        CompletableFuture<Attr> made =
                mount.client()
                        .symlink(
                                mount.inode(request),
                                name,
                                target,
                                MountContext.credentials(request));
        mount.then(request, made, attr -> mount.replyEntry(request, attr));
    }

    void readlink(FuseRequest request, RequestBody body) {
        mount.then(
                request,
                MountContext.ofInode(mount.client().readLink(mount.inode(request))),
                target -> request.reply(Unpooled.wrappedBuffer(target)));
    }

    /** The request's node is the directory the new name goes into. */
    void link(FuseRequest request, RequestBody body) {
        long target = mount.nodes().inode(NameFormat.linkTarget(body.segment()));
        byte[] name = body.string(NameFormat.LINK_SIZE);
        mount.then(
                request,
                mount.client().link(target, mount.inode(request), name),
                attr -> mount.replyEntry(request, attr));
    }

    void unlink(FuseRequest request, RequestBody body) {
        mount.thenEmpty(request, mount.client().unlink(mount.inode(request), body.string(0)));
    }

    void rmdir(FuseRequest request, RequestBody body) {
        mount.thenEmpty(request, mount.client().rmdir(mount.inode(request), body.string(0)));
    }

    void rename(FuseRequest request, RequestBody body) {
        rename(request, body, NameFormat.RENAME_SIZE, 0);
    }

    /** RENAME_WHITEOUT, the one flag not carried out, is for overlay file systems. */
    void rename2(FuseRequest request, RequestBody body) {
        int flags = NameFormat.rename2Flags(body.segment());
        if ((flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE)) != 0) {
            request.fail(Errno.EINVAL);
            return;
        }
        rename(request, body, NameFormat.RENAME2_SIZE, flags);
    }

    private void rename(FuseRequest request, RequestBody body, int nameOffset, int flags) {
        byte[] name = body.string(nameOffset);
        byte[] newName = body.string(nameOffset + name.length + 1L);
        long newParent = mount.nodes().inode(NameFormat.newParent(body.segment()));
        mount.thenEmpty(
                request,
                mount.client().rename(mount.inode(request), name, newParent, newName, flags));
    }
}
