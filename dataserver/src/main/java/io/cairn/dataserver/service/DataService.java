package io.cairn.dataserver.service;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.proto.AddDisksReply;
import io.cairn.common.proto.AddDisksRequest;
import io.cairn.common.proto.DataServerStatusReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.rocks.DatabaseService;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcHandler;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.BadBlock;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.pg.Holds;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgLoops;
import io.cairn.dataserver.pg.Requests;
import io.cairn.dataserver.pg.ServerParts;
import io.cairn.dataserver.scrub.Scrubs;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Decodes and checks every request on the loop of its connection and hands it to the loop that owns
 * its placement group. Often that is the same loop, and the request goes on at once.
 */
public final class DataService implements RpcHandler {
    private final PgLoops loops;
    private final Runnable needMap;
    private final Holds holds;
    private final Supplier<DataServerStatusReply> status;
    private final DatabaseService databases;
    private final Repairs repairs;
    private final MemberService members;
    private final ChangesService changes;
    private final LearnerService learners;
    private final ScrubService scrubs;
    private final MdsService mds;
    private final CorruptReads corruptReads;
    private final Function<AddDisksRequest, AddDisksReply> moreDisks;
    private final OperationTimer writes;
    private final DataServerMeters meters;

    /**
     * @param status answers what an administrator asks
     * @param databases answers what an administrator asks of the chunk indexes
     * @param moreDisks takes in disks that are new in the configuration
     */
    public DataService(
            PgLoops loops,
            ServerParts parts,
            Supplier<DataServerStatusReply> status,
            DatabaseService databases,
            Scrubs scrubs,
            Repairs repairs,
            Function<AddDisksRequest, AddDisksReply> moreDisks,
            DataServerMeters meters) {
        this.loops = loops;
        this.needMap = parts.needMap();
        this.holds = parts.holds();
        this.status = status;
        this.databases = databases;
        this.repairs = repairs;
        this.moreDisks = moreDisks;
        MemberSlots slots = new MemberSlots(loops, parts);
        members = new MemberService(loops, slots, repairs, meters);
        learners = new LearnerService(slots, parts.clientsWait());
        changes = new ChangesService(loops, needMap);
        this.scrubs = new ScrubService(slots, scrubs);
        mds = new MdsService(loops, parts, meters);
        corruptReads = new CorruptReads(meters, repairs);
        writes = meters.operation(DataServerMeters.Op.WRITE);
        this.meters = meters;
    }

    /** From now on blocks are repaired that the flusher or scrubs of this disk find damaged. */
    public void repairDamageOf(LocalDisk disk) {
        disk.store()
                .onDamage((pg, inode, chunk, block) ->
                        repair(disk, new BadBlock(pg, inode, chunk, block)));
    }

    /** Reads the block, and repairs it if it is damaged. Any thread. */
    public void repair(LocalDisk disk, BadBlock bad) {
        repairs.found(
                loops.owner(bad.pg()),
                disk.id(),
                bad.pg(),
                bad.inode(),
                bad.chunk(),
                bad.block() * BlockCrc.BLOCK_BYTES,
                BlockCrc.BLOCK_BYTES);
    }

    @Override
    public void handle(RpcRequest request) {
        try {
            dispatch(request);
        } catch (FsException e) {
            boolean damaged = e.errno() == Errno.EBADMSG;
            if (damaged) {
                meters.corruptRequest();
            }
            request.fail(
                    RpcStatus.fail(
                            e.errno(),
                            damaged ? Advice.RETRY : Advice.GIVE_UP,
                            String.valueOf(e.getMessage())));
        }
    }

    private void dispatch(RpcRequest request) {
        switch (request.method()) {
            case Method.DATA_WRITE_VALUE -> write(request);
            case Method.DATA_READ_VALUE -> read(request);
            case Method.PG_PREPARE_VALUE -> members.prepare(request);
            case Method.PG_READ_VALUE -> members.read(request);
            case Method.PG_READ_BLOCK_VALUE -> members.readBlock(request);
            case Method.PG_COMMIT_VALUE -> members.commit(request);
            case Method.PG_PEER_QUERY_VALUE -> members.query(request);
            case Method.PG_FETCH_OPS_VALUE -> members.fetch(request);
            case Method.PG_LEARNER_ASK_VALUE -> learners.ask(request);
            case Method.PG_LEARNER_RESET_VALUE -> learners.reset(request);
            case Method.PG_LIST_CONTENT_VALUE -> learners.list(request);
            case Method.PG_LEARNER_COPY_VALUE -> learners.copy(request);
            case Method.PG_LEARNER_COMPLETED_VALUE -> learners.completed(request);
            case Method.PG_SCRUB_LIST_VALUE -> scrubs.list(request);
            case Method.PG_SCRUB_CHUNK_VALUE -> scrubs.chunk(request);
            case Method.PG_SCRUBBED_VALUE -> scrubs.scrubbed(request);
            case Method.INODE_CHANGES_VALUE -> changes.list(request);
            case Method.DELETE_INODES_VALUE -> mds.deleteInodes(request);
            case Method.TRUNCATE_INODE_VALUE -> mds.truncateInode(request);
            case Method.STATUS_VALUE -> request.reply(status.get());
            case Method.DATABASES_VALUE -> databases.list(request);
            case Method.COMPACT_VALUE -> databases.compact(request);
            case Method.ADD_DISKS_VALUE -> addDisks(request);
            case Method.SCRUB_VALUE -> scrubs.begin(request);
            case Method.SCRUB_PROGRESS_VALUE -> scrubs.progress(request);
            default ->
                    throw new FsException(
                            Errno.ENOSYS, "a data server has no method " + request.method());
        }
    }

    private void addDisks(RpcRequest request) {
        if (request.peer().hello().getRole() != Role.ROLE_ADMIN) {
            throw new FsException(Errno.EPERM, "only administrators may add disks");
        }
        request.reply(moreDisks.apply(Heads.parse(AddDisksRequest.parser(), request.head())));
    }

    private void write(RpcRequest request) {
        DataOp op = DataOpFormat.decode(request.head().duplicate());
        Requests.checkClient(op, DataOpType.WRITE);
        if (holds.clientsPaused()) {
            request.fail(Holds.PAUSED);
            return;
        }
        ByteBuf payload = request.payload();
        Requests.checkPayload(op, payload);
        int bytes = payload.readableBytes();
        PgLoop owner = loops.owner(op.pg());
        owner.runOrExecute(
                new OpCall.Mutation(
                        request,
                        op,
                        payload.retain(),
                        owner,
                        needMap,
                        writes,
                        () -> {
                            meters.written(bytes);
                            request.reply(Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
                        }));
    }

    private void read(RpcRequest request) {
        DataOp op = DataOpFormat.decode(request.head().duplicate());
        Requests.checkClient(op, DataOpType.READ);
        if (holds.clientsPaused()) {
            request.fail(Holds.PAUSED);
            return;
        }
        PgLoop owner = loops.owner(op.pg());
        owner.runOrExecute(new ReadCall(request, op, owner, needMap, meters, corruptReads));
    }
}
