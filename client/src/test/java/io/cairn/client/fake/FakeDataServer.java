package io.cairn.client.fake;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.ReadReply;
import io.cairn.common.data.ReadReplyFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.rpc.TestRelay;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/** One data server; the chunks are the cluster's, as if replicated without delay. */
public final class FakeDataServer implements AutoCloseable {
    private final FakeCluster cluster;
    private final FakeEndpoint endpoint;
    private final Queue<Runnable> late = new ConcurrentLinkedQueue<>();
    private final List<DataOp> received = new CopyOnWriteArrayList<>();
    private volatile Function<DataOp, Fault> faults = op -> Fault.NONE;

    FakeDataServer(FakeCluster cluster, RpcLoops loops) throws IOException {
        this.cluster = cluster;
        endpoint = new FakeEndpoint(cluster, loops, Role.ROLE_DATA_SERVER, this::handle);
    }

    public String address() {
        return endpoint.address();
    }

    /** Clients that get the map from now on connect through the relay. */
    public TestRelay relay() throws IOException {
        return endpoint.relay();
    }

    public void faults(Function<DataOp, Fault> decide) {
        faults = decide;
    }

    /** Operations in the order of arrival, repeated ones included. */
    public List<DataOp> received() {
        return received;
    }

    public int held() {
        return endpoint.held() + late.size();
    }

    /** Handles the requests held, in an order drawn at random, and answers what is late. */
    public void letGo(Random random) {
        List<RpcRequest> all = endpoint.takeHeld();
        Collections.shuffle(all, random);
        all.forEach(r -> serve(r, decode(r), false));
        for (Runnable answer = late.poll(); answer != null; answer = late.poll()) {
            answer.run();
        }
    }

    /** Has no space for what was held. */
    public void refuseHeld() {
        endpoint.takeHeld().forEach(FakeDataServer::full);
    }

    private static void full(RpcRequest request) {
        request.fail(RpcStatus.fail(Errno.ENOSPC, "test"));
    }

    private static DataOp decode(RpcRequest request) {
        return DataOpFormat.decode(request.head().duplicate());
    }

    private void handle(RpcRequest request) {
        DataOp op = decode(request);
        received.add(op);
        switch (faults.apply(op)) {
            case CUT_BEFORE -> FakeEndpoint.cut(request);
            case CUT_AFTER -> {
                if (op.type() == DataOpType.WRITE) {
                    var _ = cluster.chunks().write(op, request.payload());
                }
                FakeEndpoint.cut(request);
            }
            case RETRY -> request.fail(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "test"));
            case REFRESH_MAP ->
                    request.fail(RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_MAP, "test"));
            case FULL -> full(request);
            case HOLD -> endpoint.hold(request);
            case CORRUPT -> serve(request, op, true);
            case NONE -> serve(request, op, false);
            case LATE -> late.add(reading(request, op, false));
            case REFUSE -> request.fail(RpcStatus.fail(Errno.EINVAL, "test"));
        }
    }

    private void serve(RpcRequest request, DataOp op, boolean corrupt) {
        RpcStatus refused = cluster.refusal(this, op);
        if (!refused.ok()) {
            request.fail(refused);
        } else if (op.type() == DataOpType.WRITE) {
            RpcStatus status = cluster.chunks().write(op, request.payload());
            if (status.ok()) {
                request.reply(Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
            } else {
                request.fail(status);
            }
        } else {
            reading(request, op, corrupt).run();
        }
    }

    /** Reads now; whoever runs what is returned answers with that. */
    private Runnable reading(RpcRequest request, DataOp op, boolean corrupt) {
        byte[] bytes = new byte[op.length()];
        int length = cluster.chunks().read(op, bytes);
        if (length < 0) {
            RpcStatus truncated =
                    RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_INODE, "truncated since");
            return () -> request.fail(truncated);
        }
        ByteBuf payload = Unpooled.directBuffer(Math.max(1, length)).writeBytes(bytes, 0, length);
        int[] crcs = BlockCrc.compute(payload, op.offset());
        if (corrupt && length > 0) {
            payload.setByte(length / 2, payload.getByte(length / 2) ^ 4);
        }
        ByteBuf head = Unpooled.buffer();
        ReadReplyFormat.encode(new ReadReply(op.length(), length, crcs), head);
        return () -> request.reply(head, payload);
    }

    @Override
    public void close() {
        endpoint.close();
    }
}
