package io.cairn.fuse.op;

import io.cairn.common.errno.Errno;
import io.cairn.fuse.kernel.XattrFormat;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBody;
import io.netty.buffer.Unpooled;

/** Extended attributes. Any thread. */
final class XattrOperations {
    private final MountContext mount;

    XattrOperations(MountContext mount) {
        this.mount = mount;
    }

    void getxattr(FuseRequest request, RequestBody body) {
        int size = XattrFormat.size(body.segment());
        byte[] name = body.string(XattrFormat.GETXATTR_SIZE);
        if (refused(request, name)) {
            return;
        }
        long inode = mount.inode(request);
        if (!XattrNames.isVirtual(name) && whereNone(inode, () -> request.fail(Errno.ENODATA))) {
            return;
        }
        mount.then(
                request,
                MountContext.ofInode(mount.client().getXattr(inode, name)),
                value -> replyValue(request, value, size));
    }

    /**
     * Linux asks for {@code security.capability} before the first write to a file, and again when
     * it has asked for the attributes. Whoever sets an extended attribute has the lease of the
     * attributes recalled, which waits for the answer here.
     */
    private boolean whereNone(long inode, Runnable answer) {
        KernelLeases leases = mount.leases();
        return leases.answer(() -> {
            boolean none = leases.hasNoXattrs(inode);
            if (none) {
                answer.run();
            }
            return none;
        });
    }

    void listxattr(FuseRequest request, RequestBody body) {
        int size = XattrFormat.size(body.segment());
        long inode = mount.inode(request);
        if (whereNone(inode, () -> replyValue(request, new byte[0], size))) {
            return;
        }
        mount.then(
                request,
                MountContext.ofInode(mount.client().listXattr(inode)),
                names -> replyValue(request, XattrNames.join(names), size));
    }

    private static void replyValue(FuseRequest request, byte[] value, int size) {
        if (size == 0) {
            ReplyBuffer reply = ReplyBuffer.ofThread();
            XattrFormat.putSize(reply.body(), value.length);
            request.reply(reply, XattrFormat.GETXATTR_OUT_SIZE);
        } else if (value.length > size) {
            request.fail(Errno.ERANGE);
        } else {
            request.reply(Unpooled.wrappedBuffer(value));
        }
    }

    void setxattr(FuseRequest request, RequestBody body) {
        byte[] name = body.string(XattrFormat.SETXATTR_SIZE);
        if (refused(request, name)) {
            return;
        }
        byte[] value =
                body.bytes(
                        XattrFormat.SETXATTR_SIZE + name.length + 1L,
                        Integer.toUnsignedLong(XattrFormat.size(body.segment())));
        long inode = mount.inode(request);
        mount.thenChanged(
                request,
                mount.change().ofXattrs(inode),
                MountContext.ofInode(
                        mount.client()
                                .setXattr(
                                        inode, name, value, XattrFormat.setFlags(body.segment()))),
                nothing -> request.replyEmpty());
    }

    void removexattr(FuseRequest request, RequestBody body) {
        byte[] name = body.string(0);
        if (!refused(request, name)) {
            long inode = mount.inode(request);
            mount.thenChanged(
                    request,
                    mount.change().ofXattrs(inode),
                    MountContext.ofInode(mount.client().removeXattr(inode, name)),
                    nothing -> request.replyEmpty());
        }
    }

    private static boolean refused(FuseRequest request, byte[] name) {
        boolean system = XattrNames.refused(name);
        if (system) {
            request.fail(Errno.EOPNOTSUPP);
        }
        return system;
    }
}
