package io.cairn.client.move;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.client.inode.FileServices;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.meta.NewMutation;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MoveOp;
import io.cairn.common.proto.MoveStep;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.WaitTruncatedReply;
import io.cairn.common.proto.WaitTruncatedRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The move of one file that this session holds open. One use, by one thread.
 *
 * <p>Clients write all the while, so that each pass leaves what changed during it. When a pass was
 * short enough that one more of its size does not disturb anybody, the file is fenced; a fence that
 * stood too long is ended by the metadata service, and all begins anew.
 */
final class FileMove {
    /** A pass that took no longer is followed by the fence. */
    private static final Duration SHORT_PASS = Duration.ofMillis(400);

    /** Written faster than it is copied: then it is tried under the fence. */
    private static final int MAX_PASSES = 12;

    private static final int MAX_ATTEMPTS = 8;
    private static final long AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long BEGIN_AGAIN_MAX_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Another mover that has died is found out by then. */
    private static final Duration OTHERS_PATIENCE = Duration.ofSeconds(150);

    private final FileServices services;
    private final ChunkCopier copier;
    private final long inode;
    private final int pool;
    private final DataSession session;

    /**
     * @param pool number of the new one
     */
    FileMove(FileServices services, ChunkCopier copier, long inode, int pool) {
        this.services = services;
        this.copier = copier;
        this.inode = inode;
        this.pool = pool;
        this.session = services.data().session();
    }

    /**
     * Returns when the file is in the new pool; if this throws, it is in the old one. EEXIST if it
     * was there, EBUSY if somebody else moves it, ETIMEDOUT if it is written faster than copied.
     */
    void run() {
        for (int attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
            MovedFile file = new MovedFile(services.meta(), begin(), pool);
            boolean moved = false;
            try {
                moved = copyAndSwitch(file);
            } catch (FsException e) {
                if (e.errno() != Errno.EAGAIN) {
                    throw e;
                } // else the fence was over while the rest was copied
            } finally {
                if (!moved) {
                    abort();
                }
            }
            if (moved) {
                return;
            }
        }
        throw new FsException(
                Errno.ETIMEDOUT,
                "inode " + inode + " is written faster than it is copied: try again later");
    }

    /** False if the fence did not last. */
    private boolean copyAndSwitch(MovedFile file) {
        ChunkCopier.Passes passes = copier.begin(file, session);
        for (int pass = 1; pass <= MAX_PASSES; pass++) {
            await(file.refresh());
            long start = System.nanoTime();
            passes.copyChanges();
            if (System.nanoTime() - start < SHORT_PASS.toNanos()) {
                break;
            }
        }
        long fence = fence();
        file.fenced(fence);
        awaitFence(fence);
        while (true) {
            await(file.refresh()); // the ceiling is as high as it gets
            passes.copyChanges();
            MutationResult result = step(MoveStep.MOVE_SWITCH, fence);
            switch (Errno.of(result.getErrno())) {
                case OK -> {
                    return true;
                }
                case ESTALE -> {
                    return false;
                }
                case EAGAIN -> rest();
                default -> throw failed(result);
            }
        }
    }

    /** Each question is an entry of the log: what takes long is asked more and more seldom. */
    private Attr begin() {
        long start = System.nanoTime();
        for (long pause = AGAIN_NANOS; ; pause = Math.min(2 * pause, BEGIN_AGAIN_MAX_NANOS)) {
            MutationResult result = step(MoveStep.MOVE_BEGIN, 0);
            switch (Errno.of(result.getErrno())) {
                case OK -> {
                    return result.getAttr();
                }
                case EAGAIN -> rest(pause);
                case EBUSY -> {
                    if (System.nanoTime() - start > OTHERS_PATIENCE.toNanos()) {
                        throw failed(result);
                    }
                    rest(pause);
                }
                default -> throw failed(result);
            }
        }
    }

    private long fence() {
        while (true) {
            MutationResult result = step(MoveStep.MOVE_FENCE, 0);
            switch (Errno.of(result.getErrno())) {
                case OK -> {
                    return result.getWaitTruncated();
                }
                case EAGAIN -> rest();
                default -> throw failed(result);
            }
        }
    }

    /** Also when it is over: then the switch is refused. */
    private void awaitFence(long fence) {
        boolean applied = false;
        while (!applied) {
            applied =
                    await(
                                    services.meta()
                                            .query(
                                                    Method.WAIT_TRUNCATED,
                                                    id ->
                                                            WaitTruncatedRequest.newBuilder()
                                                                    .setSession(id)
                                                                    .setInode(inode)
                                                                    .setSequence(fence)
                                                                    .build(),
                                                    WaitTruncatedReply.parser(),
                                                    MetaClient.never()))
                            .getApplied();
        }
    }

    /** What becomes of it is of no interest: closing the file ends the move too. */
    private void abort() {
        try {
            var _ = step(MoveStep.MOVE_ABORT, 0);
        } catch (FsException e) {
            // The session has ended, and the move with it.
        }
    }

    private MutationResult step(MoveStep step, long fence) {
        return await(
                services.meta()
                        .mutate(
                                NewMutation.stamped()
                                        .setMove(
                                                MoveOp.newBuilder()
                                                        .setInode(inode)
                                                        .setStep(step)
                                                        .setPool(pool)
                                                        .setFence(fence))
                                        .build(),
                                MetaClient.never(),
                                session.id())
                        .answer());
    }

    private static void rest() {
        rest(AGAIN_NANOS);
    }

    private static void rest(long nanos) {
        LockSupport.parkNanos(nanos);
        if (Thread.currentThread().isInterrupted()) {
            throw new FsException(Errno.EINTR, "interrupted");
        }
    }

    private static FsException failed(MutationResult result) {
        return new FsException(Errno.of(result.getErrno()), result.getDetail());
    }

    static <T> T await(CompletableFuture<T> future) {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw Async.failure(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new FsException(Errno.EINTR, "interrupted");
        }
    }
}
