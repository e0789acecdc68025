package io.cairn.common.rpc;

import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** One connection of a {@link ClientChannel}, which makes a new one when it is lost. */
final class ClientConnection extends Connection {
    /** Who made it, and hears what becomes of it. On the loop. */
    interface Owner {
        /** The handshake is done. */
        void ready(ClientConnection connection);

        /** The handshake was refused, by either end; the connection closes. */
        void refused(String reason);

        /** No TCP connection could be made. */
        void connectFailed(String reason);

        /** There was one, and it is closed. */
        void lost(ClientConnection which, String reason);
    }

    private final ClientChannel ofChannel;
    private final RpcClient client;
    private Owner owner;

    /** Before, the owner hears of a failure from the connection attempt itself. */
    private boolean active;

    ClientConnection(
            ClientChannel ofChannel,
            Owner owner,
            RpcClient client,
            Channel channel,
            InetSocketAddress address,
            RpcOptions options) {
        super(channel, address, options);
        this.ofChannel = ofChannel;
        this.owner = owner;
        this.client = client;
    }

    /** It is that owner's from now on. */
    void belongTo(Owner other) {
        owner = other;
    }

    /** Asks for an answer of the server's end of the connection; whatever comes is one. */
    void ping() {
        ByteBuf frame = FrameSender.withHead(channel().alloc(), Unpooled.EMPTY_BUFFER);
        write(FrameFormat.KIND_REQUEST, Method.PING_VALUE, 0, 0, frame, Unpooled.EMPTY_BUFFER);
        traffic().pinged();
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
                        ofChannel.answered(
                                FrameFormat.requestId(header),
                                FrameFormat.word(header),
                                head,
                                payload);
                case FrameFormat.KIND_ONE_WAY -> {
                    traffic().oneWay();
                    if (FrameFormat.method(header) != Method.PING_VALUE) { // that says enough
                        client.pushed(ofChannel, FrameFormat.method(header), head);
                    }
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
