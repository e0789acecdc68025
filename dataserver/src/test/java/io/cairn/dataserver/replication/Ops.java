package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.Unpooled;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Operations and answers for tests. */
final class Ops {
    static final int PG = 0x10007;
    static final long INODE = 99;

    private Ops() {}

    /** What a disk reports that has all it will have. */
    static DiskSpace space(long admissibleBytes) {
        return new DiskSpace(admissibleBytes, false);
    }

    static DataOp write(long session, long number, long ackedBelow, int offset, int length) {
        return DataOp.write(
                PG,
                new DataOp.Range(INODE, 0, offset, length),
                new DataOp.Caller(session, number, ackedBelow),
                DataOp.Known.map(1),
                new int[0]);
    }

    static DataOp read(int offset, int length) {
        return DataOp.read(
                PG,
                new DataOp.Range(INODE, 0, offset, length),
                new DataOp.Caller(7, 0, 0),
                DataOp.Known.map(1));
    }

    static PgLogEntry entry(long epoch, long sequence) {
        return new PgLogEntry(
                epoch, sequence, write(5, epoch * 1000 + sequence, 0, 0, 8), Unpooled.EMPTY_BUFFER);
    }

    /** An answer that remembers what it was told. */
    static final class Answer implements OpAnswer, PrepareAnswer, PeerAnswer {
        int answers;
        boolean done;
        boolean appended;
        @Nullable RpcStatus failure;
        @Nullable PgHistory history;
        long durable = -1;
        long gap = -1;

        RpcStatus refusal() {
            return Objects.requireNonNull(failure, "it was not refused");
        }

        PgHistory told() {
            return Objects.requireNonNull(history, "no history was told");
        }

        @Override
        public void done() {
            answers++;
            done = true;
        }

        @Override
        public void fail(RpcStatus status) {
            answers++;
            failure = status;
        }

        @Override
        public void appended() {
            appended = true;
        }

        @Override
        public void durable(long pgEpoch, long durableSequence, DiskSpace space) {
            answers++;
            durable = durableSequence;
        }

        @Override
        public void gap(long pgEpoch, long haveSequence, DiskSpace space) {
            answers++;
            gap = haveSequence;
        }

        @Override
        public void history(long pgEpoch, PgHistory told, DiskSpace space) {
            answers++;
            history = told;
        }

        @Override
        public void refuse(RpcStatus status) {
            fail(status);
        }
    }
}
