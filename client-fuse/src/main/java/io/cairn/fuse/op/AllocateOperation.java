package io.cairn.fuse.op;

import io.cairn.fuse.kernel.FileFormat;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.RequestBody;
import java.lang.foreign.MemorySegment;

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
        Allocation allocation =
                new Allocation(
                        mount.client(),
                        handles.get(FileFormat.handle(in)).file(),
                        mount.buffers(),
                        mount.options().wsync(),
                        request::answered,
                        FileFormat.fallocateMode(in),
                        FileFormat.offset(in),
                        FileFormat.fallocateLength(in));
        mount.thenChanged(
                request,
                mount.change().of(mount.inode(request)),
                allocation.start(),
                nothing -> request.replyEmpty());
    }
}
