package io.cairn.mds.server;

import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.ListLocksReply;
import io.cairn.common.proto.ListLocksRequest;
import io.cairn.common.proto.TestLockReply;
import io.cairn.common.proto.TestLockRequest;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.LockRanges;
import io.cairn.mds.session.LockWaits;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Answers who has locked what, and who waits. Any thread. */
final class LockQueries {
    /** Files of one answer: each may have thousands of locks. */
    private static final int MAX_FILES = 32;

    private final ControlReader state;
    private final LockWaits waits;

    LockQueries(ControlReader state, LockWaits waits) {
        this.state = state;
        this.waits = waits;
    }

    /** What is in the way of a lock. */
    TestLockReply test(TestLockRequest request) {
        FileLock wanted = request.getLock();
        @Nullable FileLock conflict = LockRanges.inTheWay(state.locks(wanted.getInode()), wanted);
        return conflict == null
                ? TestLockReply.getDefaultInstance()
                : TestLockReply.newBuilder().setConflict(conflict).build();
    }

    ListLocksReply list(ListLocksRequest request) {
        ListLocksReply.Builder reply = ListLocksReply.newBuilder();
        if (request.getInode() != 0) {
            return reply.addAllLocks(state.locks(request.getInode()))
                    .addAllWaiting(waits.waitingFor(request.getInode()))
                    .setEnd(true)
                    .build();
        }
        List<FileLock> locks = state.locksAfter(request.getAfterInode(), MAX_FILES);
        List<Long> files = locks.stream().map(FileLock::getInode).distinct().toList();
        reply.addAllLocks(locks).setEnd(files.size() < MAX_FILES);
        files.forEach(inode -> reply.addAllWaiting(waits.waitingFor(inode)));
        return reply.build();
    }
}
