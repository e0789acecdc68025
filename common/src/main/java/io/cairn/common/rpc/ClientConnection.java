package io.cairn.common.rpc;

import io.cairn.common.proto.Hello;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** One connection of a {@link ClientChannel}, which makes a new one when it is lost. */
final class ClientConnection extends Connection {
    private final ClientChannel owner;
    private final RpcClient client;

    /** Before, the owner hears of a failure from the connection attempt itself. */
    private boolean active;

    ClientConnection(
            ClientChannel owner,
            RpcClient client,
            Channel channel,
            InetSocketAddress address,
            RpcOptions options) {
        super(channel, address, options);
        this.owner = owner;
        this.client = client;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        active = true;
        super.channelActive(ctx);
        sendHello(client.localHello());
    }

    @Override
    void hello(Hello hello) {
        Hello local = client.localHello();
        @Nullable String refusal = Handshake.refusal(local, hello, address, client.policy());
        if (refusal != null) {
            owner.refused(refusal);
            refuse(local, refusal);
            return;
        }
        greeted(client.loops().madeTo(hello.getRole()));
        owner.ready(this);
    }

    @Override
    void refusedByPeer(String refusal) {
        owner.refused("refused by " + describe() + ": " + refusal);
        closeQuietly("refused");
    }

    @Override
    void message(byte[] header, ByteBuf head, ByteBuf payload) {
        try {
            switch (FrameFormat.kind(header)) {
                case FrameFormat.KIND_REPLY ->
                        owner.answered(
                                FrameFormat.requestId(header),
                                FrameFormat.word(header),
                                head,
                                payload);
                case FrameFormat.KIND_ONE_WAY -> {
                    traffic().oneWay();
                    client.pushed(owner, FrameFormat.method(header), head);
                }
                default -> closeBecause("a request, though this end is the client");
            }
        } finally {
            head.release();
            payload.release();
        }
    }

    @Override
    void closed(String reason) {
        if (active) {
            owner.lost(this, reason);
        }
    }

    @Override
    String describe() {
        return "server " + RpcAddress.format(address);
    }
}
