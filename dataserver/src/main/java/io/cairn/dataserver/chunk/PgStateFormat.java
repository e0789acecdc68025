package io.cairn.dataserver.chunk;

import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Layout of a PG's history as of its last flushed operation, little-endian.
 *
 * <pre>
 *  0 u32 version, 2 if there are deferred operations, else 1
 *  4 u32 number of epoch starts
 *  8 u32 number of sessions
 * 12 u32 number of deferred operations
 * 16 u64 epoch of the last flushed operation
 * 24 u64 its sequence
 *        epoch starts: u64 epoch, u64 first sequence
 *        sessions: u64 session, u64 acknowledged below, u32 count, u64 numbers of mutations
 *        deferred operations: u64 epoch, u64 sequence
 *        u32 CRC32C of everything before
 * </pre>
 */
public final class PgStateFormat {
    static final int FIXED_BYTES = 32;
    static final int VERSION = 1;
    static final int VERSION_WITH_DEFERRED = 2;

    private static final int VERSION_OFFSET = 0;
    private static final int EPOCH_STARTS_OFFSET = 4;
    private static final int SESSIONS_OFFSET = 8;
    private static final int DEFERRED_OFFSET = 12;
    private static final int EPOCH_OFFSET = 16;
    private static final int SEQUENCE_OFFSET = 24;

    private static final int EPOCH_START_BYTES = 16;
    private static final int DEFERRED_BYTES = 16;
    private static final int SESSION_BYTES = 20;
    private static final int NUMBER_BYTES = 8;

    private PgStateFormat() {}

    static byte[] encode(PgLogState s) {
        int bytes = FIXED_BYTES + EPOCH_START_BYTES * s.epochStarts().size();
        for (Answered a : s.answered()) {
            bytes += SESSION_BYTES + NUMBER_BYTES * a.numbers().length;
        }
        bytes += DEFERRED_BYTES * s.deferred().size();
        ByteBuffer b = IndexValue.allocate(bytes);
        b.putInt(VERSION_OFFSET, s.deferred().isEmpty() ? VERSION : VERSION_WITH_DEFERRED);
        b.putInt(EPOCH_STARTS_OFFSET, s.epochStarts().size());
        b.putInt(SESSIONS_OFFSET, s.answered().size());
        b.putInt(DEFERRED_OFFSET, s.deferred().size());
        b.putLong(EPOCH_OFFSET, s.lastEpoch());
        b.putLong(SEQUENCE_OFFSET, s.flushedSequence());
        b.position(FIXED_BYTES);
        for (EpochStart e : s.epochStarts()) {
            b.putLong(e.epoch()).putLong(e.firstSequence());
        }
        for (Answered a : s.answered()) {
            b.putLong(a.session()).putLong(a.ackedBelow()).putInt(a.numbers().length);
            for (long n : a.numbers()) {
                b.putLong(n);
            }
        }
        for (ChunkVersion d : s.deferred()) {
            b.putLong(d.epoch()).putLong(d.sequence());
        }
        return IndexValue.seal(b);
    }

    static PgLogState decode(int pg, byte[] value) {
        ByteBuffer b = IndexValue.open(value, FIXED_BYTES, "state of PG " + pg);
        int version = b.getInt(VERSION_OFFSET);
        if (version != VERSION && version != VERSION_WITH_DEFERRED) {
            throw new IndexDamagedException("state of PG " + pg + " has an unknown version");
        }
        int epochs = b.getInt(EPOCH_STARTS_OFFSET);
        int sessions = b.getInt(SESSIONS_OFFSET);
        int deferredOps = b.getInt(DEFERRED_OFFSET);
        long epoch = b.getLong(EPOCH_OFFSET);
        long sequence = b.getLong(SEQUENCE_OFFSET);
        b.position(FIXED_BYTES);
        List<EpochStart> starts = new ArrayList<>();
        for (int i = 0; i < epochs; i++) {
            starts.add(new EpochStart(b.getLong(), b.getLong()));
        }
        List<Answered> answered = new ArrayList<>();
        for (int i = 0; i < sessions; i++) {
            long session = b.getLong();
            long ackedBelow = b.getLong();
            long[] numbers = new long[b.getInt()];
            for (int n = 0; n < numbers.length; n++) {
                numbers[n] = b.getLong();
            }
            answered.add(new Answered(session, ackedBelow, numbers));
        }
        List<ChunkVersion> deferred = new ArrayList<>();
        for (int i = 0; i < deferredOps; i++) {
            deferred.add(new ChunkVersion(b.getLong(), b.getLong()));
        }
        return new PgLogState(pg, epoch, sequence, sequence, sequence, starts, answered, deferred);
    }
}
