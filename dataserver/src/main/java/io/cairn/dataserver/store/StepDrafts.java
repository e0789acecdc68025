package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.chunk.AnsweredFormat;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.chunk.LoggedOp;
import io.cairn.dataserver.chunk.LoggedReset;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.wal.Completeness;
import io.cairn.dataserver.wal.LearnerStep;
import io.cairn.dataserver.wal.WalRecord;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Steps of a learner, and repairs, that are about to be logged. Under the monitor of its {@link
 * PgStore}, whose newest operation they follow.
 *
 * @param order of the first one among what is logged
 */
record StepDrafts(int pg, LearnerState learner, long epoch, long sequence, long order) {
    /**
     * A step, with what releases its payload.
     *
     * @param op its record is not in the log yet
     */
    record Draft(LoggedOp op, HeldPayload payload) {}

    /**
     * The history goes on from here.
     *
     * @param content how much the PG has from then on
     * @throws IllegalArgumentException if the answered numbers do not fit into a record
     */
    Draft reset(Completeness content, List<Answered> answered) {
        ByteBuf table = Unpooled.wrappedBuffer(AnsweredFormat.encode(answered));
        if (table.readableBytes() > AnsweredFormat.MAX_BYTES) {
            throw new IllegalArgumentException(
                    "answered numbers of " + answered.size() + " sessions are too many");
        }
        LearnerStep step = new LearnerStep.Reset(learner.nextNumber(), content);
        HeldPayload payload = new HeldPayload(table);
        WalRecord record = record(LearnerStep.none(pg), step, payload, table.readableBytes());
        return new Draft(new LoggedReset(record, order, answered), payload);
    }

    Draft copiedTo(ContentHead.Key key) {
        return draft(new LearnerStep.CopiedTo(learner.nextNumber(), key.inode(), key.chunk()));
    }

    Draft completed() {
        return draft(new LearnerStep.Completed(learner.nextNumber()));
    }

    /** The content of a block, which follows an operation as a step does. */
    Draft repair(DataOp write, ByteBuf content) {
        HeldPayload payload = new HeldPayload(content.retainedSlice());
        int length = content.readableBytes();
        WalRecord record =
                new WalRecord(
                        WalRecord.NOT_LOGGED,
                        epoch,
                        sequence,
                        write,
                        true,
                        payload,
                        0,
                        length,
                        List.of());
        return new Draft(new LoggedOp(record, null, order), payload);
    }

    private Draft draft(LearnerStep step) {
        return draft(LearnerStep.none(pg), step, null, Unpooled.EMPTY_BUFFER, order);
    }

    /** See {@link CopySteps}. */
    List<Draft> copy(ChunkCopy piece) {
        List<Draft> drafts = new ArrayList<>();
        for (CopySteps.Record r : CopySteps.of(pg, piece, learner::nextNumber)) {
            ByteBuf bytes = r.payload().retain();
            drafts.add(draft(r.op(), r.step(), null, bytes, order + drafts.size()));
        }
        return drafts;
    }

    Draft copyInode(InodeChange.Copied change) {
        LearnerStep step = new LearnerStep.CopyInode(learner.nextNumber(), change.clears());
        DataOp op = LearnerStep.copiedInode(pg, change.inode(), change.truncateSequence());
        return draft(op, step, change, Unpooled.EMPTY_BUFFER, order);
    }

    private Draft draft(
            DataOp op,
            LearnerStep step,
            @Nullable InodeChange change,
            ByteBuf bytes,
            long orderOfThis) {
        HeldPayload payload = new HeldPayload(bytes);
        WalRecord record = record(op, step, payload, bytes.readableBytes());
        return new Draft(new LoggedOp(record, change, orderOfThis), payload);
    }

    private WalRecord record(DataOp op, LearnerStep step, HeldPayload payload, int length) {
        return WalRecord.step(epoch, sequence, op, step, payload, length);
    }
}
