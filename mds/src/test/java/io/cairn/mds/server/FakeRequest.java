package io.cairn.mds.server;

import com.google.protobuf.MessageLite;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A request that came over no network; its answer is a future, which fails with a refusal. */
final class FakeRequest implements RpcRequest {
    private final RpcPeer peer;
    private final Method method;
    private final ByteBuf head;
    private final CompletableFuture<MessageLite> answer = new CompletableFuture<>();

    FakeRequest(RpcPeer peer, Method method, MessageLite head) {
        this.peer = peer;
        this.method = method;
        this.head = Unpooled.wrappedBuffer(head.toByteArray());
    }

    CompletableFuture<MessageLite> answer() {
        return answer;
    }

    @Override
    public RpcPeer peer() {
        return peer;
    }

    @Override
    public int method() {
        return method.getNumber();
    }

    @Override
    public long deadlineNanos() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
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
        answer.complete(reply);
    }

    @Override
    public void reply(ByteBuf reply, ByteBuf payload) {
        throw new UnsupportedOperationException("the metadata service answers with messages");
    }

    @Override
    public void fail(RpcStatus status) {
        answer.completeExceptionally(new IllegalStateException(status.toString()));
    }
}
