package io.cairn.dataserver.chunk;

import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.wal.Completeness;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Layout of a PG's history as of its last flushed operation, little-endian.
 *
 * <pre>
 *  0 u32 version: 5 while some of what is missing was copied, else 4 once there was a step of a
 *        learner, else 2 if there are deferred operations, else 1
 *  4 u32 number of epoch starts
 *  8 u32 number of sessions
 * 12 u32 number of deferred operations
 * 16 u64 epoch of the last flushed operation
 * 24 u64 its sequence
 *        epoch starts: u64 epoch, u64 first sequence
 *        sessions: {@link AnsweredFormat}
 *        deferred operations: u64 epoch, u64 sequence; steps of a learner: u64 0, u64 number
 *        versions 4 and 5: u64 complete sequence (all bits but the first one: complete),
 *        u64 number of the newest step of a learner
 *        version 5: u64 inode, i32 chunk of the key to which it was copied, u64 complete sequence
 *        of what is up to the key (likewise)
 *        u32 CRC32C of everything before
 * </pre>
 *
 * Version 3 is the same of a learner that kept nothing of a chunk when its copy began. So what it
 * calls complete may be gone: but for a PG that is complete it is read as 0.
 */
public final class PgStateFormat {
    static final int FIXED_BYTES = 32;
    static final int VERSION = 1;
    static final int VERSION_WITH_DEFERRED = 2;
    static final int VERSION_KEEPING_NOTHING = 3;
    static final int VERSION_WITH_STEPS = 4;
    static final int VERSION_WITH_COPIED = 5;

    private static final int VERSION_OFFSET = 0;
    private static final int EPOCH_STARTS_OFFSET = 4;
    private static final int SESSIONS_OFFSET = 8;
    private static final int DEFERRED_OFFSET = 12;
    private static final int EPOCH_OFFSET = 16;
    private static final int SEQUENCE_OFFSET = 24;

    private static final int EPOCH_START_BYTES = 16;
    private static final int DEFERRED_BYTES = 16;
    private static final int STEPS_BYTES = 16;
    private static final int COPIED_BYTES = 20;

    private PgStateFormat() {}

    static byte[] encode(PgLogState s) {
        int bytes = FIXED_BYTES + EPOCH_START_BYTES * s.epochStarts().size();
        int version = version(s);
        bytes += AnsweredFormat.encodedLength(s.answered());
        bytes += DEFERRED_BYTES * s.deferred().size();
        bytes += version >= VERSION_WITH_STEPS ? STEPS_BYTES : 0;
        bytes += version == VERSION_WITH_COPIED ? COPIED_BYTES : 0;
        ByteBuffer b = IndexValue.allocate(bytes);
        b.putInt(VERSION_OFFSET, version);
        b.putInt(EPOCH_STARTS_OFFSET, s.epochStarts().size());
        b.putInt(SESSIONS_OFFSET, s.answered().size());
        b.putInt(DEFERRED_OFFSET, s.deferred().size());
        b.putLong(EPOCH_OFFSET, s.lastEpoch());
        b.putLong(SEQUENCE_OFFSET, s.flushedSequence());
        b.position(FIXED_BYTES);
        for (EpochStart e : s.epochStarts()) {
            b.putLong(e.epoch()).putLong(e.firstSequence());
        }
        AnsweredFormat.encode(s.answered(), b);
        for (ChunkVersion d : s.deferred()) {
            b.putLong(d.epoch()).putLong(d.sequence());
        }
        Completeness content = s.content();
        if (version >= VERSION_WITH_STEPS) {
            b.putLong(content.sequence()).putLong(s.steps());
        }
        if (version == VERSION_WITH_COPIED) {
            b.putLong(content.copiedInode()).putInt(content.copiedChunk());
            b.putLong(content.copiedSequence());
        }
        return IndexValue.seal(b);
    }

    private static int version(PgLogState s) {
        if (s.content().hasCopied()) {
            return VERSION_WITH_COPIED;
        }
        if (s.steps() > 0 || !s.isComplete()) {
            return VERSION_WITH_STEPS;
        }
        return s.deferred().isEmpty() ? VERSION : VERSION_WITH_DEFERRED;
    }

    static PgLogState decode(int pg, byte[] value) {
        ByteBuffer b = IndexValue.open(value, FIXED_BYTES, "state of PG " + pg);
        int version = b.getInt(VERSION_OFFSET);
        if (version < VERSION || version > VERSION_WITH_COPIED) {
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
            answered.add(AnsweredFormat.decodeOne(b));
        }
        List<ChunkVersion> deferred = new ArrayList<>();
        for (int i = 0; i < deferredOps; i++) {
            deferred.add(new ChunkVersion(b.getLong(), b.getLong()));
        }
        boolean steps = version >= VERSION_KEEPING_NOTHING;
        Completeness content = Completeness.upTo(steps ? b.getLong() : Completeness.COMPLETE);
        long newestStep = steps ? b.getLong() : 0;
        if (version == VERSION_WITH_COPIED) {
            content = new Completeness(content.sequence(), b.getLong(), b.getInt(), b.getLong());
        }
        boolean mayBeGone = version == VERSION_KEEPING_NOTHING && !content.isAll();
        return new PgLogState(
                pg,
                epoch,
                sequence,
                sequence,
                sequence,
                starts,
                answered,
                deferred,
                mayBeGone ? Completeness.NOTHING : content,
                newestStep);
    }
}
