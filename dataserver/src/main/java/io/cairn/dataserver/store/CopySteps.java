package io.cairn.dataserver.store;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.store.ChunkCopy.Run;
import io.cairn.dataserver.wal.LearnerStep;
import io.cairn.dataserver.wal.LearnerStep.Copy;
import io.cairn.dataserver.wal.LearnerStep.CopyEnd;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The records of a piece: one for each run, as a record has the bytes of one write, or one without
 * bytes. The first one begins the chunk, the last one ends it, if the piece does.
 */
final class CopySteps {
    private CopySteps() {}

    /**
     * A record to be logged.
     *
     * @param payload part of the piece's content
     */
    record Record(Copy step, DataOp op, ByteBuf payload) {}

    static List<Record> of(int pg, ChunkCopy piece, LongSupplier numbers) {
        CopyEnd end =
                piece.last()
                        ? new CopyEnd(
                                piece.version().epoch(),
                                piece.version().sequence(),
                                piece.truncateSequence(),
                                piece.lengthBytes())
                        : null;
        List<Run> runs = piece.runs().isEmpty() ? List.of(new Run(0, 0)) : piece.runs();
        List<Record> records = new ArrayList<>(runs.size());
        int at = piece.content().readerIndex();
        int crc = 0;
        for (int i = 0; i < runs.size(); i++) {
            Run r = runs.get(i);
            boolean begins = piece.first() && i == 0;
            int crcs = r.blocks();
            records.add(
                    record(
                            pg,
                            piece,
                            r,
                            new Copy(
                                    numbers.getAsLong(),
                                    begins,
                                    begins ? piece.lengthBytes() : 0,
                                    i == runs.size() - 1 ? end : null),
                            Arrays.copyOfRange(piece.blockCrcs(), crc, crc + crcs),
                            at));
            at += r.length();
            crc += crcs;
        }
        return records;
    }

    private static Record record(
            int pg, ChunkCopy piece, Run r, Copy step, int[] crcs, int contentAt) {
        @Nullable CopyEnd end = step.end();
        DataOp op =
                LearnerStep.copied(
                        pg, piece.inode(), piece.chunk(), r.offset(), r.length(), end, crcs);
        ByteBuf payload =
                r.length() == 0
                        ? Unpooled.EMPTY_BUFFER
                        : piece.content().slice(contentAt, r.length());
        return new Record(step, op, payload);
    }
}
