package io.cairn.dataserver.pg;

import com.google.protobuf.ByteString;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.proto.FetchedOp;
import io.cairn.common.proto.PgCopied;
import io.cairn.common.proto.PgEpochStart;
import io.cairn.common.proto.PgFetchOpsReply;
import io.cairn.common.proto.PgPeerQueryReply;
import io.cairn.dataserver.chunk.PgLogState.EpochStart;
import io.cairn.dataserver.replication.DiskSpace;
import io.cairn.dataserver.replication.PgHistory;
import io.cairn.dataserver.store.PgLogEntry;
import io.cairn.dataserver.wal.Completeness;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;

/** Translates between the protobuf messages of members and the types of replication. Stateless. */
public final class Messages {
    private Messages() {}

    /** The history of a member. */
    public static PgPeerQueryReply reply(long pgEpoch, PgHistory history, DiskSpace space) {
        PgPeerQueryReply.Builder reply =
                PgPeerQueryReply.newBuilder()
                        .setPgEpoch(pgEpoch)
                        .setLastEpoch(history.lastEpoch())
                        .setLastSequence(history.lastSequence())
                        .setCommittedSequence(history.committedSequence())
                        .setAdmissibleBytes(space.admissibleBytes())
                        .setGrowing(space.growing())
                        .setIncomplete(!history.isComplete())
                        .setCompleteSequence(
                                history.isComplete() ? 0 : history.content().sequence());
        if (history.content().hasCopied()) {
            reply.setCopied(
                    PgCopied.newBuilder()
                            .setInode(history.content().copiedInode())
                            .setChunk(history.content().copiedChunk())
                            .setSequence(history.content().copiedSequence()));
        }
        for (EpochStart start : history.epochStarts()) {
            reply.addEpochStarts(
                    PgEpochStart.newBuilder()
                            .setEpoch(start.epoch())
                            .setFirstSequence(start.firstSequence()));
        }
        return reply.build();
    }

    static DiskSpace space(PgPeerQueryReply reply) {
        return new DiskSpace(reply.getAdmissibleBytes(), reply.getGrowing());
    }

    static PgHistory history(PgPeerQueryReply reply) {
        List<EpochStart> starts = new ArrayList<>();
        for (PgEpochStart start : reply.getEpochStartsList()) {
            starts.add(new EpochStart(start.getEpoch(), start.getFirstSequence()));
        }
        return new PgHistory(
                reply.getLastEpoch(),
                reply.getLastSequence(),
                reply.getCommittedSequence(),
                starts,
                content(reply));
    }

    private static Completeness content(PgPeerQueryReply reply) {
        if (!reply.getIncomplete()) {
            return Completeness.ALL;
        }
        PgCopied copied = reply.getCopied();
        return reply.hasCopied()
                ? new Completeness(
                        reply.getCompleteSequence(),
                        copied.getInode(),
                        copied.getChunk(),
                        copied.getSequence())
                : Completeness.upTo(reply.getCompleteSequence());
    }

    /** As many of the entries as fit, at least one; releases all payloads. */
    public static PgFetchOpsReply reply(long pgEpoch, List<PgLogEntry> entries, int maxBytes) {
        PgFetchOpsReply.Builder reply = PgFetchOpsReply.newBuilder().setPgEpoch(pgEpoch);
        long bytes = 0;
        for (PgLogEntry entry : entries) {
            if (reply.getOpsCount() == 0 || bytes + entry.payload().readableBytes() <= maxBytes) {
                bytes += entry.payload().readableBytes();
                reply.addOps(logged(entry));
            } else {
                bytes = maxBytes + 1L;
            }
            entry.payload().release();
        }
        return reply.build();
    }

    private static FetchedOp logged(PgLogEntry entry) {
        ByteBuf head = Unpooled.buffer(DataOpFormat.encodedLength(entry.op()));
        DataOpFormat.encode(entry.op(), head);
        return FetchedOp.newBuilder()
                .setEpoch(entry.epoch())
                .setSequence(entry.sequence())
                .setHead(ByteString.copyFrom(head.nioBuffer()))
                .setPayload(ByteString.copyFrom(entry.payload().nioBuffer()))
                .build();
    }

    /** Throws FsException when an operation is damaged. */
    static List<PgLogEntry> entries(PgFetchOpsReply reply) {
        List<PgLogEntry> entries = new ArrayList<>(reply.getOpsCount());
        for (FetchedOp op : reply.getOpsList()) {
            PgLogEntry entry =
                    new PgLogEntry(
                            op.getEpoch(),
                            op.getSequence(),
                            DataOpFormat.decode(
                                    Unpooled.wrappedBuffer(op.getHead().asReadOnlyByteBuffer())),
                            Unpooled.wrappedBuffer(op.getPayload().toByteArray()));
            Requests.checkPayload(entry.op(), entry.payload());
            entries.add(entry);
        }
        return entries;
    }
}
