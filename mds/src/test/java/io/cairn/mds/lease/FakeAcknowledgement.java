package io.cairn.mds.lease;

import com.google.protobuf.MessageLite;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.ReadRecalledRequest;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;

/** A session says that it has forgotten, over no network. */
final class FakeAcknowledgement implements RpcRequest {
    private final RpcPeer peer;
    private final ByteBuf head;
    private boolean answered;

    private FakeAcknowledgement(RpcPeer peer, ReadRecalledRequest head) {
        this.peer = peer;
        this.head = Unpooled.wrappedBuffer(head.toByteArray());
    }

    static void send(ReadLeases to, long session, List<ReadRecall> recalls, RpcPeer peer) {
        ReadRecalledRequest.Builder told = ReadRecalledRequest.newBuilder().setSession(session);
        recalls.forEach(recall -> told.addNumbers(recall.getNumber()));
        FakeAcknowledgement request = new FakeAcknowledgement(peer, told.build());
        to.recalled(request);
        if (!request.answered) {
            throw new AssertionError("not answered");
        }
    }

    @Override
    public RpcPeer peer() {
        return peer;
    }

    @Override
    public int method() {
        return Method.READ_RECALLED_VALUE;
    }

    @Override
    public long deadlineNanos() {
        return Long.MAX_VALUE;
    }

    @Override
    public ByteBuf head() {
        return head;
    }

    @Override
    public ByteBuf payload() {
        return Unpooled.EMPTY_BUFFER;
    }

    @Override
    public void releaseBody() {}

    @Override
    public void reply(MessageLite reply) {
        answered = true;
    }

    @Override
    public void reply(ByteBuf reply, ByteBuf payload) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void fail(RpcStatus status) {
        throw new AssertionError(status.toString());
    }
}
