package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.MessageRows;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;
import io.cairn.mds.store.Time;

/**
 * Executes a batch of one session: each number once and in order. The answers are kept until the
 * client has acknowledged them. The applying thread only.
 *
 * <p>A batch is refused as a whole, without using up its numbers, with ESTALE (no such session, or
 * evicted), EAGAIN and the expected number (a gap), EBUSY (too many answers not acknowledged),
 * EEXIST (the leader filled in an inode id that is not above all used ones, and must choose again),
 * EINVAL (not a batch).
 */
final class MutationBatch {
    /** Answers kept per session. */
    static final int MAX_ANSWERS = 4096;

    /** The namespace shard an inode id belongs to. */
    static final int SHARD_SHIFT = 48;

    private final StateTx tx;
    private final MutateRequest request;

    private MutationBatch(StateTx tx, MutateRequest request) {
        this.tx = tx;
        this.request = request;
    }

    static ApplyReply.Builder apply(StateTx tx, MutateRequest request) {
        return new MutationBatch(tx, request).run();
    }

    private ApplyReply.Builder run() {
        SessionRecord session = Sessions.requireServed(tx, request.getSession());
        long first = request.getFirstNumber();
        int count = request.getMutationsCount();
        long expected = session.getLastNumber() + 1;
        if (first < 1 || count == 0) {
            throw new FsException(Errno.EINVAL, count + " mutations from number " + first);
        }
        if (first > expected) {
            return ApplyReply.newBuilder()
                    .setErrno(Errno.EAGAIN.number())
                    .setDetail("number " + first + " before " + expected)
                    .setExpectedNumber(expected);
        }
        int done = (int) Math.min(count, expected - first);
        long acked = Math.max(session.getAckedBelow(), Math.min(request.getAckedBelow(), expected));
        if (expected + (count - done) - acked > MAX_ANSWERS) {
            throw new FsException(
                    Errno.EBUSY, "more than " + MAX_ANSWERS + " answers not acknowledged");
        }
        checkFilledIn(done);
        ApplyReply.Builder reply = ApplyReply.newBuilder();
        if (done > 0) {
            tx.repeatAnswers();
            reply.setRepeatedResults(done);
        }
        for (int i = 0; i < done; i++) {
            reply.addResults(kept(session, first + i));
        }
        for (int i = done; i < count; i++) {
            MutationResult result = execute(request.getMutations(i));
            tx.put(
                    MetaKeys.of(MetaKeys.ANSWER, session.getSession(), first + i),
                    result.toByteArray());
            reply.addResults(result);
        }
        remember(session, expected + (count - done) - 1, acked);
        return reply;
    }

    private void remember(SessionRecord before, long lastNumber, long acked) {
        for (long n = before.getAckedBelow(); n < acked; n++) {
            tx.delete(MetaKeys.of(MetaKeys.ANSWER, before.getSession(), n));
        }
        SessionRecord now = Sessions.requireServed(tx, before.getSession());
        tx.putSession(now.toBuilder().setLastNumber(lastNumber).setAckedBelow(acked).build());
    }

    private MutationResult kept(SessionRecord session, long number) {
        byte[] answer = tx.get(MetaKeys.of(MetaKeys.ANSWER, session.getSession(), number));
        if (number < session.getAckedBelow() || answer == null) {
            return refusal(Errno.EINVAL, "number " + number + " was acknowledged before");
        }
        return MessageRows.parse(MutationResult.parser(), answer, "a kept answer");
    }

    private MutationResult execute(Mutation mutation) {
        if (mutation.getRefusedErrno() != 0) {
            return refusal(Errno.of(mutation.getRefusedErrno()), "refused by the leader");
        }
        try {
            Caller caller =
                    new Caller(
                            request.getSession(),
                            mutation.getCredentials().getUid(),
                            mutation.getCredentials().getGid(),
                            Time.of(mutation.getTime()),
                            mutation.getOwnInode());
            if (caller.ownInode() != 0) {
                requireMakes(mutation);
                IdRanges.require(tx, caller.session(), caller.ownInode());
            }
            tx.beginMutation();
            return execute(caller, mutation);
        } catch (FsException e) {
            return refusal(e.errno(), String.valueOf(e.getMessage()));
        }
    }

    private MutationResult execute(Caller caller, Mutation m) {
        return switch (m.getOpCase()) {
            case CREATE -> Creation.create(tx, caller, m.getCreate());
            case MKDIR -> Creation.mkdir(tx, caller, m.getMkdir());
            case SYMLINK -> Creation.symlink(tx, caller, m.getSymlink());
            case MKNOD -> Creation.mknod(tx, caller, m.getMknod());
            case LINK -> Links.link(tx, caller, m.getLink());
            case UNLINK -> Links.unlink(tx, caller, m.getUnlink());
            case RMDIR -> Links.rmdir(tx, caller, m.getRmdir());
            case RENAME -> Rename.rename(tx, caller, m.getRename());
            case SET_ATTR -> Attributes.setAttr(tx, caller, m.getSetAttr());
            case SET_XATTR -> ExtendedAttributes.set(tx, caller, m.getSetXattr());
            case REMOVE_XATTR -> ExtendedAttributes.remove(tx, caller, m.getRemoveXattr());
            case OPEN -> OpenFiles.open(tx, caller, m.getOpen());
            case RELEASE -> OpenFiles.release(tx, caller, m.getRelease());
            case GROW -> Attributes.grow(tx, caller, m.getGrow());
            case RAISE_CEILING -> Attributes.raiseCeiling(tx, m.getRaiseCeiling());
            case ACQUIRE_APPEND -> AppendRights.acquire(tx, caller, m.getAcquireAppend());
            case RETURN_APPEND -> AppendRights.giveBack(tx, caller, m.getReturnAppend());
            case MOVE -> Moves.step(tx, caller, m.getMove());
            case SET_LOCK -> FileLocks.set(tx, caller, m.getSetLock());
            case ACQUIRE_IDS -> IdRanges.acquire(tx, caller, m.getAcquireIds());
            case RETURN_IDS -> IdRanges.giveBack(tx, caller);
            // An operation of another version does not come so far.
            case OP_NOT_SET -> refusal(Errno.ENOSYS, "a mutation without an operation");
        };
    }

    private static void requireMakes(Mutation m) {
        switch (m.getOpCase()) {
            case CREATE, MKDIR, SYMLINK, MKNOD -> {}
            default ->
                    throw new FsException(
                            Errno.EINVAL, m.getOpCase() + " with inode id " + m.getOwnInode());
        }
    }

    private static MutationResult refusal(Errno errno, String detail) {
        return MutationResult.newBuilder().setErrno(errno.number()).setDetail(detail).build();
    }

    /** Ids the leader filled in ascend and were never used. */
    private void checkFilledIn(int from) {
        long used = tx.tally.maxInode;
        for (Mutation m : request.getMutationsList().subList(from, request.getMutationsCount())) {
            long id = filledIn(m);
            if (id == 0) {
                continue;
            }
            long last = m.hasAcquireIds() ? IdRanges.last(id, m.getAcquireIds()) : id;
            if (id >>> SHARD_SHIFT != 0 || last >>> SHARD_SHIFT != 0) {
                throw new FsException(Errno.EINVAL, "inode " + last + " of another shard");
            }
            if (id <= used) {
                throw new FsException(Errno.EEXIST, "inode " + id + " with " + used + " in use");
            }
            used = last;
        }
    }

    private static long filledIn(Mutation m) {
        if (m.getOwnInode() != 0) {
            return 0;
        }
        return switch (m.getOpCase()) {
            case CREATE -> m.getCreate().getInode();
            case MKDIR -> m.getMkdir().getInode();
            case SYMLINK -> m.getSymlink().getInode();
            case MKNOD -> m.getMknod().getInode();
            case ACQUIRE_IDS -> m.getAcquireIds().getFirst();
            default -> 0;
        };
    }
}
