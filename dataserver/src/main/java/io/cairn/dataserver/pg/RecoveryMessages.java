package io.cairn.dataserver.pg;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.PgAnswered;
import io.cairn.common.proto.PgContentHead;
import io.cairn.common.proto.PgLearnerCopyRequest;
import io.cairn.common.proto.PgLearnerResetRequest;
import io.cairn.common.proto.PgListContentReply;
import io.cairn.common.proto.PgRun;
import io.cairn.common.proto.PgScrubChunkReply;
import io.cairn.common.proto.PgScrubListReply;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.replication.ContentPage;
import io.cairn.dataserver.replication.RecoveryOutputs.Copy;
import io.cairn.dataserver.replication.RecoveryOutputs.Reset;
import io.cairn.dataserver.store.ChunkCheck;
import io.cairn.dataserver.store.ChunkCopy;
import io.cairn.dataserver.store.ChunkCopy.Run;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Translates between the protobuf messages of a primary and its learners and members and the types
 * of replication. What another server sent is checked: FsException EPROTO or EBADMSG. Stateless.
 */
public final class RecoveryMessages {
    /**
     * Heads of content in one page, about 30 bytes each. Behind each page a learner notes how far
     * it has come: what is copied of a page is copied again if that is cut off.
     */
    public static final int PAGE_HEADS = 256;

    private RecoveryMessages() {}

    // ---- where a history begins anew ----------------------------------------------------------

    static PgLearnerResetRequest reset(int pg, int disk, long pgEpoch, Reset reset) {
        PgLearnerResetRequest.Builder request =
                PgLearnerResetRequest.newBuilder()
                        .setPg(pg)
                        .setDisk(disk)
                        .setPgEpoch(pgEpoch)
                        .setNumber(reset.number())
                        .setEpoch(reset.epoch())
                        .setSequence(reset.sequence())
                        .setDistrusted(reset.distrusted());
        for (Answered a : reset.answered()) {
            PgAnswered.Builder answered =
                    PgAnswered.newBuilder().setSession(a.session()).setAckedBelow(a.ackedBelow());
            for (long number : a.numbers()) {
                answered.addNumbers(number);
            }
            request.addAnswered(answered);
        }
        return request.build();
    }

    public static Reset reset(PgLearnerResetRequest request) {
        List<Answered> answered = new ArrayList<>(request.getAnsweredCount());
        for (PgAnswered a : request.getAnsweredList()) {
            answered.add(
                    new Answered(
                            a.getSession(),
                            a.getAckedBelow(),
                            a.getNumbersList().stream().mapToLong(Long::longValue).toArray()));
        }
        return new Reset(
                request.getNumber(),
                request.getEpoch(),
                request.getSequence(),
                answered,
                request.getDistrusted());
    }

    // ---- content ------------------------------------------------------------------------------

    /** What a disk has behind a key, from at most {@link #PAGE_HEADS} heads. */
    public static PgListContentReply page(List<ContentHead> heads) {
        PgListContentReply.Builder reply =
                PgListContentReply.newBuilder().setLast(heads.size() < PAGE_HEADS);
        heads.forEach(head -> reply.addHeads(head(head)));
        return reply.build();
    }

    private static PgContentHead head(ContentHead head) {
        return PgContentHead.newBuilder()
                .setInode(head.key().inode())
                .setChunk(head.key().chunk())
                .setEpoch(head.version().epoch())
                .setSequence(head.version().sequence())
                .setTruncateSequence(head.truncateSequence())
                .setLengthBytes(head.lengthBytes())
                .build();
    }

    private static ContentHead head(PgContentHead head) {
        return new ContentHead(
                new Key(head.getInode(), head.getChunk()),
                new ChunkVersion(head.getEpoch(), head.getSequence()),
                head.getTruncateSequence(),
                head.getLengthBytes());
    }

    public static List<ContentHead> heads(List<PgContentHead> heads) {
        return heads.stream().map(RecoveryMessages::head).toList();
    }

    static ContentPage page(long number, PgListContentReply reply) {
        return new ContentPage(number, heads(reply.getHeadsList()), reply.getLast());
    }

    // ---- scrub --------------------------------------------------------------------------------

    /**
     * What a disk has behind a key.
     *
     * @param lastSequence the list has all operations up to this one at least
     */
    public static PgScrubListReply scrubList(long lastSequence, List<ContentHead> heads) {
        PgScrubListReply.Builder reply =
                PgScrubListReply.newBuilder().setLastSequence(lastSequence);
        heads.forEach(head -> reply.addHeads(head(head)));
        return reply.build();
    }

    public static PgScrubChunkReply scrubChunk(ChunkCheck check) {
        return PgScrubChunkReply.newBuilder()
                .setHead(head(check.head()))
                .setSettled(check.settled())
                .setDigest(check.digest())
                .addAllBadBlocks(check.badBlocks())
                .build();
    }

    public static ChunkCheck check(PgScrubChunkReply reply) {
        return new ChunkCheck(
                head(reply.getHead()),
                reply.getSettled(),
                reply.getDigest(),
                reply.getBadBlocksList());
    }

    // ---- copies -------------------------------------------------------------------------------

    static PgLearnerCopyRequest piece(PgLearnerCopyRequest.Builder request, ChunkCopy piece) {
        request.setLast(piece.last())
                .setEpoch(piece.version().epoch())
                .setSequence(piece.version().sequence())
                .setTruncateSequence(piece.truncateSequence())
                .setLengthBytes(piece.lengthBytes());
        for (Run run : piece.runs()) {
            request.addRuns(PgRun.newBuilder().setOffset(run.offset()).setLength(run.length()));
        }
        for (int crc : piece.blockCrcs()) {
            request.addBlockCrcs(crc);
        }
        return request.build();
    }

    public static Copy copy(PgLearnerCopyRequest request) {
        return new Copy(
                request.getNumber(),
                request.getPiece(),
                request.getPosition(),
                request.getInode(),
                request.getChunk());
    }

    /**
     * The piece that was sent, every block of it verified.
     *
     * @param content stays the caller's
     */
    public static ChunkCopy piece(PgLearnerCopyRequest request, ByteBuf content) {
        List<Run> runs = new ArrayList<>(request.getRunsCount());
        for (PgRun run : request.getRunsList()) {
            runs.add(new Run(run.getOffset(), run.getLength()));
        }
        int[] crcs = request.getBlockCrcsList().stream().mapToInt(Integer::intValue).toArray();
        ChunkCopy piece;
        try {
            piece =
                    new ChunkCopy(
                            request.getInode(),
                            request.getChunk(),
                            request.getPiece() == 0,
                            request.getLast(),
                            new ChunkVersion(request.getEpoch(), request.getSequence()),
                            request.getTruncateSequence(),
                            request.getLengthBytes(),
                            runs,
                            crcs,
                            content);
        } catch (IllegalArgumentException e) {
            throw new FsException(Errno.EPROTO, String.valueOf(e.getMessage()));
        }
        verify(piece);
        return piece;
    }

    private static void verify(ChunkCopy piece) {
        int at = piece.content().readerIndex();
        int block = 0;
        for (Run run : piece.runs()) {
            int count = BlockCrc.count(run.offset(), run.length());
            int[] crcs = Arrays.copyOfRange(piece.blockCrcs(), block, block + count);
            ByteBuf bytes = piece.content().slice(at, run.length());
            int wrong = BlockCrc.firstMismatch(bytes, run.offset(), crcs);
            if (wrong >= 0) {
                throw new FsException(
                        Errno.EBADMSG,
                        "block at %d of a copy does not match its checksum"
                                .formatted(run.offset() + wrong * BlockCrc.BLOCK_BYTES));
            }
            at += run.length();
            block += count;
        }
    }
}
