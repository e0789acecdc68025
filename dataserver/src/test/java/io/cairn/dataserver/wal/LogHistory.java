package io.cairn.dataserver.wal;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.dataserver.disk.BlockRun;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What was appended to a log, by LSN from 1: records of every kind, made at random. Compares what a
 * recovery hands out. One thread.
 */
final class LogHistory {
    /** Blocks of the data file that large writes may name. */
    static final int DATA_BLOCKS = 64;

    private static final int BLOCK = BlockCrc.BLOCK_BYTES;

    private final Random random;
    private final List<Logged> logged = new ArrayList<>();

    /**
     * One record.
     *
     * @param op null for the end of a PG's tail
     */
    private record Logged(
            int pg,
            long epoch,
            long sequence,
            @Nullable DataOp op,
            byte[] payload,
            List<BlockRun> extents,
            boolean repair,
            @Nullable LearnerStep step) {
        Logged(
                int pg,
                long epoch,
                long sequence,
                @Nullable DataOp op,
                byte[] payload,
                List<BlockRun> extents,
                boolean repair) {
            this(pg, epoch, sequence, op, payload, extents, repair, null);
        }
    }

    LogHistory(Random random) {
        this.random = random;
    }

    /** LSN of the last one. */
    long last() {
        return logged.size();
    }

    /**
     * Appends one more.
     *
     * @param durable gets its LSN, on the log's thread
     */
    void append(Wal wal, LongConsumer durable) {
        Logged next = next();
        logged.add(next);
        long lsn = last();
        append(wal, next, () -> durable.accept(lsn));
    }

    private static void append(Wal wal, Logged l, Runnable durable) {
        var payload = Unpooled.wrappedBuffer(l.payload);
        DataOp op = l.op;
        if (op == null) {
            wal.appendDropTail(l.pg, l.sequence, durable);
        } else if (l.step != null) {
            wal.appendStep(l.epoch, l.sequence, op, l.step, payload, durable);
        } else if (l.repair) {
            wal.appendRepair(l.epoch, l.sequence, op, payload, durable);
        } else if (!l.extents.isEmpty()) {
            wal.appendDirect(l.epoch, l.sequence, op, l.extents, durable);
        } else {
            wal.append(l.epoch, l.sequence, op, payload, durable);
        }
    }

    private Logged next() {
        return switch (random.nextInt(11)) {
            case 0 -> new Logged(pg(), 0, last(), null, new byte[0], List.of(), false);
            case 1 -> other(DataOpType.NOOP, 0);
            case 2 -> other(DataOpType.DELETE_INODES, 8 * (1 + random.nextInt(3)));
            case 3 -> write(BLOCK * random.nextInt(8), BLOCK, true);
            case 4 -> direct();
            case 10 -> step();
            case 5, 6 -> write(random.nextInt(20_000), 1 + random.nextInt(300), false);
            default -> write(random.nextInt(20_000), 1 + random.nextInt(9000), false);
        };
    }

    private Logged step() {
        long number = last() + 1;
        return switch (random.nextInt(5)) {
            case 0 -> step(new LearnerStep.Reset(number, content()), LearnerStep.none(pg()), 20);
            case 1 -> step(new LearnerStep.Completed(number), LearnerStep.none(pg()), 0);
            case 2 ->
                    step(
                            new LearnerStep.CopyInode(number, random.nextBoolean()),
                            LearnerStep.copiedInode(pg(), number, last()),
                            0);
            case 3 ->
                    step(
                            new LearnerStep.CopiedTo(number, last(), random.nextInt(9) - 1),
                            LearnerStep.none(pg()),
                            0);
            default -> copy(number, random.nextInt(3) * BLOCK);
        };
    }

    private Completeness content() {
        Completeness content = Completeness.upTo(last());
        return random.nextBoolean()
                ? content
                : content.copiedTo(last(), random.nextInt(9) - 1).lackingAfter(last());
    }

    private Logged copy(long number, int length) {
        int offset = random.nextInt(3) * BLOCK;
        LearnerStep.CopyEnd end =
                random.nextBoolean() ? new LearnerStep.CopyEnd(3, 4, 5, offset + length) : null;
        byte[] payload = new byte[length];
        random.nextBytes(payload);
        int[] crcs = BlockCrc.compute(ByteBuffer.wrap(payload), offset);
        DataOp op = LearnerStep.copied(pg(), 7, 2, offset, length, end, crcs);
        boolean begins = random.nextBoolean();
        int cutTo = begins ? random.nextInt(1 << 20) : 0;
        LearnerStep step = new LearnerStep.Copy(number, begins, cutTo, end);
        return new Logged(op.pg(), 3, last(), op, payload, List.of(), false, step);
    }

    private Logged step(LearnerStep step, DataOp op, int length) {
        byte[] payload = new byte[length];
        random.nextBytes(payload);
        return new Logged(op.pg(), 3, last(), op, payload, List.of(), false, step);
    }

    private int pg() {
        return 1 + random.nextInt(5);
    }

    private Logged write(int offset, int length, boolean repair) {
        byte[] payload = new byte[length];
        random.nextBytes(payload);
        int[] crcs = BlockCrc.compute(ByteBuffer.wrap(payload), offset);
        DataOp op = op(DataOpType.WRITE, offset, length, crcs);
        return new Logged(op.pg(), 3, last(), op, payload, List.of(), repair);
    }

    private Logged other(DataOpType type, int length) {
        byte[] payload = new byte[length];
        random.nextBytes(payload);
        DataOp op = op(type, 0, length, new int[0]);
        return new Logged(op.pg(), 3, last(), op, payload, List.of(), false);
    }

    /** Its payload lies in two runs of the data file; recovery does not look at it. */
    private Logged direct() {
        int first = 1 + random.nextInt(4);
        int second = 1 + random.nextInt(4);
        int length = (first + second) * BLOCK;
        DataOp op = op(DataOpType.WRITE, 0, length, new int[first + second]);
        List<BlockRun> extents =
                List.of(new BlockRun(1, first), new BlockRun(DATA_BLOCKS - second, second));
        return new Logged(op.pg(), 3, last(), op, new byte[0], extents, false);
    }

    private DataOp op(DataOpType type, int offset, int length, int[] crcs) {
        int chunk = type == DataOpType.WRITE ? 2 : 0;
        return new DataOp(
                type, 0, pg(), 7, last(), 0, 1, chunk, offset, length, 0, 1, List.of(), crcs);
    }

    /** Takes what a recovery hands out and compares it, one record after the other. */
    final class Comparison implements WalReplay {
        private long lsn;

        /**
         * @param trimLsn the record after this one is expected first
         */
        Comparison(long trimLsn) {
            lsn = trimLsn;
        }

        /** LSN of the last one handed out. */
        long last() {
            return lsn;
        }

        @Override
        public void operation(WalRecord record) throws IOException {
            Logged expected = next();
            DataOp op = expected.op;
            assertThat(op).as("operation of LSN %d", lsn).isNotNull();
            assertThat(record.lsn()).isEqualTo(lsn);
            assertThat(record.epoch()).isEqualTo(expected.epoch);
            assertThat(record.sequence()).isEqualTo(expected.sequence);
            assertThat(record.repair()).isEqualTo(expected.repair);
            assertThat(record.extents()).isEqualTo(expected.extents);
            assertThat(record.step()).isEqualTo(expected.step);
            assertThat(encoded(record)).isEqualTo(encoded(expected.step, op));
            if (expected.extents.isEmpty()) {
                ByteBuffer payload = ByteBuffer.allocate(record.payloadLength());
                record.read(0, payload);
                assertThat(Arrays.equals(payload.array(), expected.payload))
                        .as("payload of LSN %d", lsn)
                        .isTrue();
            }
        }

        @Override
        public void dropTail(int pg, long lastSequenceKept) {
            Logged expected = next();
            assertThat(expected.op).as("operation of LSN %d", lsn).isNull();
            assertThat(pg).isEqualTo(expected.pg);
            assertThat(lastSequenceKept).isEqualTo(expected.sequence);
        }

        private Logged next() {
            assertThat(lsn).as("records handed out").isLessThan(logged.size());
            return logged.get((int) lsn++);
        }

        private static ByteBuffer encoded(WalRecord record) {
            return encoded(record.step(), record.op());
        }

        private static ByteBuffer encoded(@Nullable LearnerStep step, @Nullable DataOp op) {
            if (op == null) {
                return ByteBuffer.allocate(0);
            }
            if (step != null) {
                ByteBuffer bytes = ByteBuffer.allocate(LearnerStepFormat.encodedLength(op));
                LearnerStepFormat.encode(step, op, bytes);
                return bytes;
            }
            ByteBuffer bytes = ByteBuffer.allocate(DataOpFormat.encodedLength(op));
            DataOpFormat.encode(op, bytes);
            return bytes.flip();
        }
    }

    /** Takes the records after the LSN back: a recovery did not find them. */
    LogHistory upTo(long lsn) {
        LogHistory kept = new LogHistory(random);
        kept.logged.addAll(logged.subList(0, (int) lsn));
        return kept;
    }
}
