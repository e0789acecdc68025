package io.cairn.fuse.jnr;

import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.api.LockCall;
import io.cairn.common.proto.FileLock;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.fuse.session.CallingProcess;
import java.util.Optional;
import jnr.ffi.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * Locks of ranges and of files. libfuse 2 itself unlocks the ranges of a process when it closes a
 * descriptor, and answers who has a lock from a list of its own before it asks. Any thread.
 */
final class LockCalls {
    private static final int F_GETLK = 5;
    private static final int F_SETLKW = 7;
    private static final int LOCK_EX = 2;
    private static final int LOCK_NB = 4;
    private static final int LOCK_UN = 8;

    private final Calls calls;
    private final HandleNumbers open;

    LockCalls(Calls calls, HandleNumbers open) {
        this.calls = calls;
        this.open = open;
    }

    void enter(Table table) {
        table.put(table.lock, Callbacks.Lock.class, this::lock);
        table.put(table.flock, Callbacks.Flock.class, this::flock);
    }

    private int lock(@Nullable Pointer name, Pointer info, int command, Pointer flock) {
        FileLock wanted = CStructs.lock(flock, CStructs.lockOwner(info));
        boolean wait = command == F_SETLKW;
        FuseOpcode opcode =
                command == F_GETLK ? FuseOpcode.GETLK : wait ? FuseOpcode.SETLKW : FuseOpcode.SETLK;
        return calls.onHandle(
                opcode,
                info,
                handle -> {
                    OpenFile file = open.file(handle);
                    if (command == F_GETLK) {
                        Optional<FileLock> found = calls.await(file.testLock(wanted));
                        found.ifPresentOrElse(
                                lock -> CStructs.putLock(flock, lock),
                                () -> CStructs.putFree(flock));
                        return 0;
                    }
                    return CStructs.isUnlock(flock)
                            ? unlocked(file, wanted)
                            : locked(file, wanted, wait);
                });
    }

    private int flock(@Nullable Pointer name, Pointer info, int operation) {
        boolean wait = (operation & LOCK_NB) == 0;
        FileLock wanted =
                FileLock.newBuilder()
                        .setFlock(true)
                        .setOwner(CStructs.lockOwner(info))
                        .setExclusive((operation & LOCK_EX) != 0)
                        .setEnd(Long.MAX_VALUE)
                        .setPid(calls.process())
                        .build();
        return calls.onHandle(
                wait ? FuseOpcode.SETLKW : FuseOpcode.SETLK,
                info,
                handle ->
                        (operation & LOCK_UN) != 0
                                ? unlocked(open.file(handle), wanted)
                                : locked(open.file(handle), wanted, wait));
    }

    private int unlocked(OpenFile file, FileLock range) {
        calls.await(file.unlock(range));
        return 0;
    }

    private int locked(OpenFile file, FileLock wanted, boolean wait) {
        int thread = calls.thread(); // of the kernel's caller; the question comes on another one
        LockCall call =
                file.lock(wanted, wait, () -> CallingProcess.waitsForLockOfOpenFile(thread));
        var _ = calls.await(call.had(), late -> {}, call::interrupt);
        return 0;
    }
}
