package io.cairn.fuse.op;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.LookupReply;
import io.cairn.fuse.kernel.NameFormat;
import io.cairn.fuse.op.KernelLeases.Asked;
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
        Asked asked = mount.leases().asked();
        CompletableFuture<LookupReply> found =
                isDot(name) || isDotDot(name)
                        ? reconnect(parent, isDotDot(name))
                        : mount.walks().lookup(request.pid(), parent, name);
        mount.then(
                request,
                found,
                reply -> {
                    if (reply.hasAttr()) {
                        mount.replyEntry(request, asked, parent, name, reply.getAttr());
                    } else {
                        mount.replyMissing(
                                request, asked, parent, name, reply.getMissingLeaseMicros());
                    }
                });
    }

    /** "." of any inode, ".." of a directory: the kernel asks for them only to follow a handle. */
    private CompletableFuture<LookupReply> reconnect(long inode, boolean up) {
        boolean above = up && inode != mount.nodes().rootInode();
        CompletableFuture<Attr> found =
                above
                        ? mount.client().lookup(inode, new byte[] {'.', '.'})
                        : mount.client().getAttr(inode).thenApply(this::requireUsed);
        return found.thenCompose(subtree::require)
                .thenApply(attr -> LookupReply.newBuilder().setAttr(attr).build());
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
        long parent = mount.inode(request);
        byte[] name = body.string(NameFormat.MKNOD_SIZE);
        OwnChange change = mount.change().of(parent, name);
        CompletableFuture<Attr> made =
                mount.client()
                        .mknod(
                                parent,
                                name,
                                NameFormat.mknodMode(in),
                                NameFormat.mknodRdev(in),
                                MountContext.credentials(request));
        mount.thenEntry(request, change, made, parent, name);
    }

    void mkdir(FuseRequest request, RequestBody body) {
        int mode = NameFormat.mkdirMode(body.segment());
        long parent = mount.inode(request);
        byte[] name = body.string(NameFormat.MKDIR_SIZE);
        OwnChange change = mount.change().of(parent, name);
        CompletableFuture<Attr> made =
                mount.client()
                        .mkdir(
                                parent,
                                name,
                                Mode.DIRECTORY | Mode.permissions(mode),
                                MountContext.credentials(request));
        mount.thenEntry(request, change, made, parent, name);
    }

    /** The new name comes first, then what the link says. */
    void symlink(FuseRequest request, RequestBody body) {
        byte[] name = body.string(0);
        byte[] target = body.string(name.length + 1L);
        long parent = mount.inode(request);
        OwnChange change = mount.change().of(parent, name);
        CompletableFuture<Attr> made =
                mount.client().symlink(parent, name, target, MountContext.credentials(request));
        mount.thenEntry(request, change, made, parent, name);
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
        long parent = mount.inode(request);
        OwnChange change = mount.change().of(parent, name).of(target);
        CompletableFuture<Attr> made = mount.client().link(target, parent, name);
        // The kernel takes these attributes whatever it was told since: they have no lease.
        mount.thenEntry(request, change, made.thenApply(EntryOperations::once), parent, name);
    }

    private static Attr once(Attr attr) {
        return attr.getAttrLeaseMicros() == 0
                ? attr
                : attr.toBuilder().clearAttrLeaseMicros().build();
    }

    /** The kernel itself sees to the attributes of what loses the name. */
    void unlink(FuseRequest request, RequestBody body) {
        long parent = mount.inode(request);
        byte[] name = body.string(0);
        OwnChange change = mount.change().of(parent, name);
        mount.thenChanged(
                request,
                change,
                mount.client().unlink(parent, name),
                nothing -> request.replyEmpty());
    }

    void rmdir(FuseRequest request, RequestBody body) {
        long parent = mount.inode(request);
        byte[] name = body.string(0);
        OwnChange change = mount.change().of(parent, name);
        mount.thenChanged(
                request,
                change,
                mount.client().rmdir(parent, name),
                nothing -> request.replyEmpty());
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

    /**
     * The kernel goes on believing what it has moved, under the new name, as long as it believed
     * the old one: for that time the leader takes the new one for lent to this session too.
     */
    private void rename(FuseRequest request, RequestBody body, int nameOffset, int flags) {
        byte[] name = body.string(nameOffset);
        byte[] newName = body.string(nameOffset + name.length + 1L);
        long newParent = mount.nodes().inode(NameFormat.newParent(body.segment()));
        long parent = mount.inode(request);
        OwnChange change = mount.change().of(parent, name).of(newParent, newName);
        // What was moved has another time of change.
        CompletableFuture<Long> renamed =
                mount.client()
                        .rename(parent, name, newParent, newName, flags)
                        .thenApply(moved -> {
                            change.of(moved);
                            return moved;
                        });
        mount.thenChanged(request, change, renamed, moved -> request.replyEmpty());
    }
}
