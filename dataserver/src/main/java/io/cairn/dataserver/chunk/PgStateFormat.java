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
 *  0 u32 version, 1
 *  4 u32 number of epoch starts
 *  8 u32 number of sessions
 * 12 u32 0
 * 16 u64 epoch of the last flushed operation
 * 24 u64 its sequence
 *        epoch starts: u64 epoch, u64 first sequence
 *        sessions: u64 session, u64 acknowledged below, u32 count, u64 numbers of mutations
 *        u32 CRC32C of everything before
 * </pre>
 */
public final class PgStateFormat {
    static final int FIXED_BYTES = 32;
    static final int VERSION = 1;

    private PgStateFormat() {}

    static byte[] encode(PgLogState s) {
        int bytes = FIXED_BYTES + 16 * s.epochStarts().size();
        for (Answered a : s.answered()) {
            bytes += 20 + 8 * a.numbers().length;
        }
        ByteBuffer b = IndexValue.allocate(bytes);
        b.putInt(VERSION).putInt(s.epochStarts().size()).putInt(s.answered().size()).putInt(0);
        b.putLong(s.lastEpoch()).putLong(s.flushedSequence());
        for (EpochStart e : s.epochStarts()) {
            b.putLong(e.epoch()).putLong(e.firstSequence());
        }
        for (Answered a : s.answered()) {
            b.putLong(a.session()).putLong(a.ackedBelow()).putInt(a.numbers().length);
            for (long n : a.numbers()) {
                b.putLong(n);
            }
        }
        return IndexValue.seal(b);
    }

    static PgLogState decode(int pg, byte[] value) {
        ByteBuffer b = IndexValue.open(value, FIXED_BYTES, "state of PG " + pg);
        if (b.getInt() != VERSION) {
            throw new IndexDamagedException("state of PG " + pg + " has an unknown version");
        }
        int epochs = b.getInt();
        int sessions = b.getInt();
        b.getInt();
        long epoch = b.getLong();
        long sequence = b.getLong();
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
        return new PgLogState(pg, epoch, sequence, sequence, sequence, starts, answered);
    }
}
