package io.cairn.dataserver.replication;

import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.replication.RecoveryOutputs.Copy;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.replication.RecoveryOutputs.Step;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.wal.Completeness;
import org.jspecify.annotations.Nullable;

/**
 * A learner's side: what it does besides following the primary as a backup does. It begins an epoch
 * by telling what it has, and drops what the primary then says that it does not share, so its
 * history is the beginning of the primary's. Where the primary's log does not reach back to its
 * end, it begins anew at a later position, and its content is copied to it, chunk by chunk, while
 * new operations arrive.
 *
 * <p>A merge that it does not know to be committed it drops, and gets what that takes in as
 * content: what is here of the other group is as it was when it left, which nobody sees to any
 * more.
 *
 * <p>What it has been brought it knows by a key, up to which everything was copied: another primary
 * begins behind that.
 *
 * <p>A copy has everything of its chunk up to a position, all of it committed. It is taken only
 * after the operations up to there, and before any later one on that chunk: so the chunk is, after
 * it, what it is at the primary. Owner's thread only.
 */
final class Learner {
    /** No piece follows this one. */
    private static final long NO_MORE = Long.MAX_VALUE - 1;

    private final RecoveryOutputs out;
    private final PgLog log;
    private final Backup backup;
    private final Touches touches = new Touches();
    private boolean begun;
    private boolean resetting;
    private long lastStep;
    private long lastPiece;

    Learner(RecoveryOutputs out, PgLog log, Backup backup) {
        this.out = out;
        this.log = log;
        this.backup = backup;
    }

    /** At the beginning of an epoch, and whenever a tail was dropped. */
    void begin() {
        if (!begun && !log.dropping()) {
            begun = true;
            touches.restart(log.lastSequence());
        }
    }

    /** Whether it follows the primary; before, it answers nothing but "later". */
    boolean follows() {
        return begun && !resetting;
    }

    void prepare(Prepare p, PrepareAnswer answer) {
        if (!follows()) {
            answer.refuse(later("a learner begins"));
            return;
        }
        long before = log.lastSequence();
        backup.prepare(p, answer);
        if (log.lastSequence() > before) {
            touches.add(p.entry());
        }
    }

    /**
     * Of several steps that are under way none that is older does anything from now on.
     *
     * @param shared operations after this one are dropped, but for those known committed here
     */
    void ask(long number, long shared, PeerAnswer answer) {
        if (!follows() || number <= lastStep) {
            answer.refuse(later("a learner begins"));
            return;
        }
        long merge = out.firstMerge();
        if (merge > 0 && merge <= log.committed()) {
            answer.refuse(later("a merge is being carried out"));
            return;
        }
        lastStep = number;
        lastPiece = NO_MORE;
        long kept = Math.max(merge > 0 ? Math.min(shared, merge - 1) : shared, log.committed());
        if (log.lastSequence() > kept) {
            begun = false;
            backup.dropTail(kept);
        }
        backup.query(answer);
    }

    void reset(Reset reset, Step step) {
        boolean follows = follows() && log.allDurable();
        if (!follows || reset.number() <= lastStep || reset.sequence() < log.lastSequence()) {
            step.failed(later("a learner begins"));
            return;
        }
        if (!reset.fits()) {
            step.failed(later("more answered numbers than the log takes"));
            return;
        }
        lastStep = reset.number();
        resetting = true;
        // All that is here is the beginning of what the primary has committed.
        backup.commitAll();
        log.reset(reset.epoch(), reset.sequence(), reset.distrusted());
        backup.reset();
        touches.restart(reset.sequence());
        out.reset(
                reset,
                new Step() {
                    @Override
                    public void done() {
                        resetting = false;
                        step.done();
                    }

                    @Override
                    public void failed(RpcStatus status) {
                        step.failed(status);
                    }
                });
    }

    /** Null if the copy, or a piece of it, may be logged now. */
    @Nullable RpcStatus admit(Copy copy) {
        boolean next =
                copy.number() > lastStep
                        ? copy.piece() == 0
                        : copy.number() == lastStep && copy.piece() == lastPiece + 1;
        boolean lacks = !log.content().isAll();
        if (!follows() || !lacks || !next || copy.position() > log.lastSequence()) {
            return later("the copy does not fit what is here");
        }
        if (touches.touchedAfter(copy.position(), copy.inode(), copy.chunk())) {
            return later("the chunk has changed since it was copied");
        }
        lastStep = copy.number();
        lastPiece = copy.piece();
        return null;
    }

    /**
     * The primary asks for what follows the key: what is up to there it has copied, all of it.
     *
     * @param number of the step; 0, of older releases, says nothing
     */
    void copiedTo(long number, Key key) {
        if (!follows() || number <= lastStep || log.content().isAll()) {
            return;
        }
        lastStep = number;
        lastPiece = NO_MORE;
        Completeness before = log.content();
        log.copiedTo(key);
        if (!log.content().equals(before)) {
            out.copiedTo(key);
        }
    }

    void completed(long number, Step step) {
        if (!follows() || number <= lastStep) {
            step.failed(later("a learner begins"));
            return;
        }
        lastStep = number;
        log.complete();
        out.completed(step);
    }

    private static RpcStatus later(String why) {
        return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, why);
    }
}
