package io.cairn.fuse.op;

import io.cairn.fuse.kernel.FileFormat;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.RequestBody;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/** The kernel's FALLOCATE. Any thread. */
final class AllocateOperation {
    private final MountContext mount;
    private final FileHandles handles;

    AllocateOperation(MountContext mount, FileHandles handles) {
        this.mount = mount;
        this.handles = handles;
    }

    void fallocate(FuseRequest request, RequestBody body) {
        MemorySegment in = body.segment();
        long inode = mount.inode(request);
        int mode = FileFormat.fallocateMode(in);
        Allocation allocation =
                new Allocation(
                        mount.client(),
                        handles.get(FileFormat.handle(in)).file(),
                        mount.buffers(),
                        mount.options().wsync(),
                        request::answered,
                        mode,
                        FileFormat.offset(in),
                        FileFormat.fallocateLength(in));
        mount.thenChanged(
                request,
                mount.change().of(inode),
                mode == 0 ? allocation.start() : zeros(inode, allocation),
                nothing -> request.replyEmpty());
    }

    /** Linux drops the pages of zeros only if all of them were written. */
    private CompletableFuture<Void> zeros(long inode, Allocation allocation) {
        mount.cache().broken(inode);
        return allocation.start().whenComplete((nothing, failure) -> mount.cache().broken(inode));
    }
}
