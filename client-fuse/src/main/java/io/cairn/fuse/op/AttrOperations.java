package io.cairn.fuse.op;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.time.WallClock;
import io.cairn.fuse.kernel.SetAttrFormat;
import io.cairn.fuse.kernel.StatFsFormat;
import io.cairn.fuse.kernel.StatxFormat;
import io.cairn.fuse.op.KernelLeases.Asked;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBody;
import java.util.concurrent.CompletableFuture;

/** Attributes of inodes and of the file system. Any thread. */
final class AttrOperations {
    private final MountContext mount;

    AttrOperations(MountContext mount) {
        this.mount = mount;
    }

    void getattr(FuseRequest request, RequestBody body) {
        Asked asked = mount.leases().asked();
        mount.then(
                request,
                MountContext.ofInode(mount.attributes(mount.inode(request))),
                attr -> mount.replyAttr(request, asked, attr));
    }

    void statx(FuseRequest request, RequestBody body) {
        Asked asked = mount.leases().asked();
        mount.then(
                request,
                MountContext.ofInode(mount.attributes(mount.inode(request))),
                attr -> {
                    var _ = mount.leases().answer(() -> replyStatx(request, asked, attr));
                });
    }

    private boolean replyStatx(FuseRequest request, Asked asked, Attr attr) {
        ReplyBuffer reply = ReplyBuffer.ofThread();
        StatxFormat.putOut(reply.body(), attr, mount.leases().attrNanos(asked, attr));
        mount.told(attr);
        return request.reply(reply, StatxFormat.OUT_SIZE);
    }

    void setattr(FuseRequest request, RequestBody body) {
        Timespec now = WallClock.now();
        SetAttrOp change = SetAttrFormat.decode(body.segment(), mount.inode(request), now);
        long era = mount.cache().era(change.getInode());
        mount.thenChanged(
                request,
                mount.change().of(change.getInode()),
                MountContext.ofInode(
                        mount.client()
                                .setAttr(change, MountContext.credentials(request))
                                .exceptionallyCompose(failure -> changedRemoved(change, failure))),
                attr -> {
                    if (change.hasSize() && attr.getSize() == 0) {
                        return replyEmptied(request, attr, era);
                    }
                    return mount.replyChanged(request, attr);
                });
    }

    /** With this answer Linux drops all pages of the file (fs/fuse/dir.c, fuse_do_setattr). */
    private boolean replyEmptied(FuseRequest request, Attr attr, long era) {
        mount.cache().pagesRead(attr, era);
        boolean taken = mount.replyChanged(request, attr);
        if (!taken) {
            mount.cache().broken(attr.getInode());
        }
        return taken;
    }

    /** A removed directory that is open has attributes only here. */
    private CompletableFuture<Attr> changedRemoved(SetAttrOp change, Throwable failure) {
        boolean removed = mount.directories().ofRemoved(change.getInode(), failure) != null;
        Attr changed = removed ? mount.directories().change(change) : null;
        return changed == null
                ? CompletableFuture.failedFuture(failure)
                : CompletableFuture.completedFuture(changed);
    }

    void statfs(FuseRequest request, RequestBody body) {
        mount.then(
                request,
                mount.client().statFs(),
                space -> {
                    ReplyBuffer reply = ReplyBuffer.ofThread();
                    StatFsFormat.put(reply.body(), space);
                    request.reply(reply, StatFsFormat.SIZE);
                });
    }
}
