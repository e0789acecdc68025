package io.cairn.dataserver.service;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.common.data.TruncateInode;
import io.cairn.common.data.TruncateInodeFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.proto.DeleteInodesReply;
import io.cairn.common.proto.DeleteInodesRequest;
import io.cairn.common.proto.TruncateInodeReply;
import io.cairn.common.proto.TruncateInodeRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgLoops;
import io.cairn.dataserver.pg.ServerParts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/**
 * Turns the MDS leader's requests to a PG's primary into logged operations of session 0. Repeating
 * one is harmless, so they need no place in the table of executed numbers. Any loop.
 */
final class MdsService {
    private final PgLoops loops;
    private final ServerParts parts;
    private final DataServerMeters meters;

    MdsService(PgLoops loops, ServerParts parts, DataServerMeters meters) {
        this.loops = loops;
        this.parts = parts;
        this.meters = meters;
    }

    void deleteInodes(RpcRequest request) {
        DeleteInodesRequest r = Heads.parse(DeleteInodesRequest.parser(), request.head());
        long[] inodes = r.getInodesList().stream().mapToLong(Long::longValue).toArray();
        if (inodes.length == 0 || inodes.length > DeleteInodesFormat.MAX_INODES) {
            throw new FsException(Errno.EINVAL, "a deletion of " + inodes.length + " inodes");
        }
        ByteBuf payload = Unpooled.buffer(DeleteInodesFormat.encodedLength(inodes.length));
        DeleteInodesFormat.encode(inodes, payload);
        DataOp op = DataOp.deleteInodes(r.getPg(), r.getNumber(), inodes.length, r.getMapEpoch());
        submit(
                request,
                op,
                payload,
                meters.operation(DataServerMeters.Op.DELETE),
                () -> request.reply(DeleteInodesReply.getDefaultInstance()));
    }

    void truncateInode(RpcRequest request) {
        TruncateInodeRequest r = Heads.parse(TruncateInodeRequest.parser(), request.head());
        ByteBuf payload = Unpooled.buffer(TruncateInodeFormat.LENGTH);
        TruncateInodeFormat.encode(
                new TruncateInode(
                        r.getSize(), r.getStripeUnit(), r.getStripeCount(), r.getChunkSize()),
                payload);
        TruncateInodeFormat.decode(payload); // refuses an impossible layout before it is logged
        DataOp op = DataOp.truncateInode(r.getPg(), r.getInode(), r.getSequence(), r.getMapEpoch());
        submit(
                request,
                op,
                payload,
                meters.operation(DataServerMeters.Op.TRUNCATE),
                () -> request.reply(TruncateInodeReply.getDefaultInstance()));
    }

    private void submit(
            RpcRequest request, DataOp op, ByteBuf payload, OperationTimer timer, Runnable reply) {
        PgLoop owner = loops.owner(op.pg());
        owner.runOrExecute(
                new OpCall.Mutation(request, op, payload, owner, parts.needMap(), timer, reply));
    }
}
