package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.api.LockCall;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLock;
import io.cairn.fuse.kernel.FileFormat;
import io.cairn.fuse.kernel.LockFormat;
import io.cairn.fuse.session.CallingProcess;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.ReplyBuffer;
import io.cairn.fuse.session.RequestBody;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * Locks of ranges (fcntl) and of whole files (flock). The kernel tells nothing of the difference
 * between ranges of a process and those of an open file but by the owner's number, and itself keeps
 * no list of locks. Any thread.
 */
final class LockOperations {
    private final MountContext mount;
    private final FileHandles handles;
    private final UnseenCloses closes;

    LockOperations(MountContext mount, FileHandles handles, UnseenCloses closes) {
        this.mount = mount;
        this.closes = closes;
        this.handles = handles;
    }

    private static FileLock lock(MemorySegment in) {
        return FileLock.newBuilder()
                .setFlock(LockFormat.isFlock(in))
                .setOwner(LockFormat.owner(in))
                .setExclusive(LockFormat.isExclusive(in))
                .setStart(LockFormat.start(in))
                .setEnd(LockFormat.end(in))
                .setPid(LockFormat.pid(in))
                .build();
    }

    void getlk(FuseRequest request, RequestBody body) {
        MemorySegment in = body.segment();
        OpenFile file = handles.get(FileFormat.handle(in)).file();
        mount.then(request, file.testLock(lock(in)), found -> replyTested(request, found));
    }

    private static void replyTested(FuseRequest request, Optional<FileLock> found) {
        ReplyBuffer reply = ReplyBuffer.ofThread();
        if (found.isEmpty()) {
            LockFormat.putFree(reply.body());
        } else {
            FileLock lock = found.get();
            LockFormat.putOut(
                    reply.body(),
                    lock.getStart(),
                    lock.getEnd(),
                    lock.getExclusive(),
                    lock.getPid());
        }
        request.reply(reply, LockFormat.OUT_SIZE);
    }

    void setlk(FuseRequest request, RequestBody body) {
        set(request, body, false);
    }

    void setlkw(FuseRequest request, RequestBody body) {
        set(request, body, true);
    }

    private void set(FuseRequest request, RequestBody body, boolean wait) {
        MemorySegment in = body.segment();
        FileHandle handle = handles.get(FileFormat.handle(in));
        FileLock lock = lock(in);
        if (LockFormat.isUnlock(in)) {
            mount.thenEmpty(request, handle.file().unlock(lock));
            return;
        }
        if (lock.getFlock()) {
            lock(request, handle.file(), lock, wait);
        } else {
            closes.beforeLock(
                    handle.file().inode(),
                    lock.getOwner(),
                    lock.getPid(),
                    () -> lock(request, handle.file(), lock, wait));
        }
    }

    private void lock(FuseRequest request, OpenFile file, FileLock lock, boolean wait) {
        LockCall call =
                file.lock(lock, wait, () -> CallingProcess.waitsForLockOfOpenFile(request.pid()));
        request.whenInterrupted(call::interrupt);
        request.whenGivenUp(() -> call.had().cancel(false));
        mount.then(
                request,
                call.had(),
                attr -> {
                    if (!lock.getFlock() && handles.hasQuiet(file.inode())) {
                        closes.follow(
                                file,
                                lock.getOwner(),
                                lock.getPid(),
                                () -> CallingProcess.locksForItsProcess(request.pid()),
                                () -> locked(request, attr));
                    } else {
                        locked(request, attr);
                    }
                });
    }

    /**
     * Who had the lock before may have changed the file: what the kernel has of it counts only if
     * it is of the file as it is now, as at an open. Pages that are dropped hold up nobody here: no
     * page is locked for a call of fcntl or flock.
     */
    private void locked(FuseRequest request, Attr attr) {
        KernelCache cache = mount.cache();
        if (cache.pagesAreOf(attr)) {
            if (cache.knows(attr)) {
                request.replyEmpty();
            } else {
                mount.notifier().invalidateAttributes(request.node(), request::replyEmpty);
            }
            return;
        }
        long era = cache.era(attr.getInode());
        mount.notifier()
                .dropPages(
                        request.node(),
                        0,
                        () -> {
                            cache.pagesRead(attr, era);
                            request.replyEmpty();
                        });
    }
}
