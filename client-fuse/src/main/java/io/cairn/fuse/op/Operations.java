package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient;
import io.cairn.common.errno.Errno;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.fuse.libc.LinuxError;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.Notifier;
import io.cairn.fuse.session.RequestBody;
import io.cairn.fuse.session.RequestBuffers;
import io.cairn.fuse.session.RequestHandler;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * The table from opcode to handler. Any thread. What is not in it is answered with ENOSYS, after
 * which the kernel does without: LSEEK (it takes a file for one piece of data), COPY_FILE_RANGE (it
 * copies through the page cache), POLL, BMAP, ACCESS (default_permissions), SYNCFS. Where locks are
 * not negotiated, the kernel keeps them itself.
 */
public final class Operations implements RequestHandler {
    private final Map<FuseOpcode, RequestHandler> table = new EnumMap<>(FuseOpcode.class);
    private final FileHandles handles = new FileHandles();
    private final OpenDirectories directories = new OpenDirectories();

    /**
     * @param device of the mount, as of stat(2); 0 where that is not known
     */
    public Operations(
            CairnClient client,
            long rootInode,
            Notifier notifier,
            RequestBuffers buffers,
            OperationOptions options,
            LongSupplier device) {
        NodeIds nodes = new NodeIds(rootInode);
        KernelLeases leases =
                new KernelLeases(
                        options.leases(),
                        options.entryTimeoutNanos(),
                        options.attrTimeoutNanos(),
                        System::nanoTime);
        MountContext mount =
                new MountContext(
                        client,
                        nodes,
                        new KernelCache(),
                        directories,
                        new SecondWalks(client),
                        leases,
                        notifier,
                        buffers,
                        options);
        client.onNewSession(mount::forgetKernelCaches);
        client.holdContents(mount.cache());
        if (options.leases()) {
            client.holdLeases(new Recalls(nodes, leases, notifier.leases()));
        }
        names(new EntryOperations(mount, handles));
        attributes(new AttrOperations(mount), new XattrOperations(mount));
        directories(new DirectoryOperations(mount));
        files(mount, device);
        table.put(FuseOpcode.DESTROY, (request, body) -> request.replyEmpty());
        // Nothing is kept per node, so there is nothing to forget.
        table.put(FuseOpcode.FORGET, (request, body) -> {});
        table.put(FuseOpcode.BATCH_FORGET, (request, body) -> {});
        table.put(FuseOpcode.NOTIFY_REPLY, (request, body) -> {});
        table.put(FuseOpcode.IOCTL, (request, body) -> request.replyError(LinuxError.ENOTTY));
        table.put(FuseOpcode.TMPFILE, (request, body) -> request.fail(Errno.EOPNOTSUPP));
    }

    private void names(EntryOperations names) {
        table.put(FuseOpcode.LOOKUP, names::lookup);
        table.put(FuseOpcode.MKNOD, names::mknod);
        table.put(FuseOpcode.MKDIR, names::mkdir);
        table.put(FuseOpcode.SYMLINK, names::symlink);
        table.put(FuseOpcode.READLINK, names::readlink);
        table.put(FuseOpcode.LINK, names::link);
        table.put(FuseOpcode.UNLINK, names::unlink);
        table.put(FuseOpcode.RMDIR, names::rmdir);
        table.put(FuseOpcode.RENAME, names::rename);
        table.put(FuseOpcode.RENAME2, names::rename2);
    }

    private void attributes(AttrOperations attributes, XattrOperations xattrs) {
        table.put(FuseOpcode.GETATTR, attributes::getattr);
        table.put(FuseOpcode.STATX, attributes::statx);
        table.put(FuseOpcode.SETATTR, attributes::setattr);
        table.put(FuseOpcode.STATFS, attributes::statfs);
        table.put(FuseOpcode.GETXATTR, xattrs::getxattr);
        table.put(FuseOpcode.LISTXATTR, xattrs::listxattr);
        table.put(FuseOpcode.SETXATTR, xattrs::setxattr);
        table.put(FuseOpcode.REMOVEXATTR, xattrs::removexattr);
    }

    private void directories(DirectoryOperations directories) {
        table.put(FuseOpcode.OPENDIR, directories::opendir);
        table.put(FuseOpcode.READDIR, directories::readdir);
        table.put(FuseOpcode.READDIRPLUS, directories::readdirplus);
        table.put(FuseOpcode.RELEASEDIR, directories::releasedir);
        table.put(FuseOpcode.FSYNCDIR, directories::fsyncdir);
    }

    /** Files and directories the kernel holds open. */
    public int handles() {
        return handles.size() + directories.handles();
    }

    private void files(MountContext mount, LongSupplier device) {
        UnseenCloses closes = new UnseenCloses(device);
        OpenOperations opens = new OpenOperations(mount, handles);
        DataOperations data = new DataOperations(mount, handles, closes);
        table.put(FuseOpcode.OPEN, opens::open);
        table.put(FuseOpcode.CREATE, opens::create);
        table.put(FuseOpcode.RELEASE, opens::release);
        table.put(FuseOpcode.READ, data::read);
        table.put(FuseOpcode.WRITE, data::write);
        table.put(FuseOpcode.FSYNC, data::fsync);
        table.put(FuseOpcode.FLUSH, data::flush);
        LockOperations locks = new LockOperations(mount, handles, closes);
        table.put(FuseOpcode.GETLK, locks::getlk);
        table.put(FuseOpcode.SETLK, locks::setlk);
        table.put(FuseOpcode.SETLKW, locks::setlkw);
        table.put(FuseOpcode.FALLOCATE, new AllocateOperation(mount, handles)::fallocate);
    }

    @Override
    public void handle(FuseRequest request, RequestBody body) {
        RequestHandler handler = table.get(request.opcode());
        if (handler == null) {
            request.fail(Errno.ENOSYS);
        } else {
            handler.handle(request, body);
        }
    }
}
