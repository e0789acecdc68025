package io.cairn.mds.raft;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.ratis.netty.NettyConfigKeys;
import org.apache.ratis.netty.NettyRpcProxy;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcReplyProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionReplyProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionRequestProto;
import org.apache.ratis.proto.netty.NettyProtos.RaftNettyExceptionReplyProto;
import org.apache.ratis.proto.netty.NettyProtos.RaftNettyServerReplyProto;
import org.apache.ratis.proto.netty.NettyProtos.RaftNettyServerRequestProto;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.rpc.RpcType;
import org.apache.ratis.rpc.SupportedRpcType;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerRpcWithProxy;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.io.netty.bootstrap.ServerBootstrap;
import org.apache.ratis.thirdparty.io.netty.buffer.ByteBuf;
import org.apache.ratis.thirdparty.io.netty.channel.Channel;
import org.apache.ratis.thirdparty.io.netty.channel.ChannelHandlerContext;
import org.apache.ratis.thirdparty.io.netty.channel.ChannelInitializer;
import org.apache.ratis.thirdparty.io.netty.channel.EventLoopGroup;
import org.apache.ratis.thirdparty.io.netty.channel.SimpleChannelInboundHandler;
import org.apache.ratis.thirdparty.io.netty.channel.socket.SocketChannel;
import org.apache.ratis.thirdparty.io.netty.handler.codec.ByteToMessageDecoder;
import org.apache.ratis.thirdparty.io.netty.handler.codec.TooLongFrameException;
import org.apache.ratis.thirdparty.io.netty.handler.codec.protobuf.ProtobufDecoder;
import org.apache.ratis.thirdparty.io.netty.handler.codec.protobuf.ProtobufEncoder;
import org.apache.ratis.thirdparty.io.netty.handler.codec.protobuf.ProtobufVarint32LengthFieldPrepender;
import org.apache.ratis.util.NettyUtils;
import org.apache.ratis.util.ProtoUtils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Raft port over plain Netty, in Ratis's own format (a varint length, then a
 * RaftNettyServerRequestProto), so that members of either implementation understand each other.
 * Ratis's server side (NettyRpcService) serves every request to everybody, hides where a request
 * comes from, and buffers frames of up to 2 GiB. Here a connection from elsewhere than a member is
 * closed when it is accepted, frames are bounded, and only what members send is answered.
 *
 * <p>Requests are executed on the event loops and may wait there for a sync, as in Ratis: a leader
 * has one append outstanding per connection. Any thread may send.
 */
final class NettyPort extends RaftServerRpcWithProxy<NettyRpcProxy, NettyRpcProxy.PeerMap> {
    private static final Logger LOG = LoggerFactory.getLogger(NettyPort.class);

    /** Appended entries and a checkpoint's chunk are bounded by half of it. */
    static final int MAX_FRAME_BYTES = 2 * RaftSettings.ENTRY_MAX.getSizeInt();

    private final RaftServer server;
    private final RaftPort port;
    private final Consumer<RaftPeerId> disconnected;
    private final InetSocketAddress address;
    private final EventLoopGroup accepting;
    private final EventLoopGroup serving;
    private volatile @Nullable Channel listening;

    /** Where the members are, for connections beside those that Ratis keeps. */
    private final Map<RaftPeerId, RaftPeer> peers = new ConcurrentHashMap<>();

    private final VoteRequests votes =
            new VoteRequests(
                    (request, over) -> sendVote(request),
                    this::sendVoteAnew,
                    VoteRequests.Times.DEFAULT);

    /**
     * @param server what requests are given to
     * @param disconnected told of a member whose connection is closed, if entries or heartbeats
     *     have come by it
     */
    NettyPort(RaftServer server, RaftPort port, Consumer<RaftPeerId> disconnected) {
        super(
                server::getId,
                id -> new NettyRpcProxy.PeerMap(id.toString(), server.getProperties()));
        this.server = server;
        this.port = port;
        this.disconnected = disconnected;
        this.address =
                new InetSocketAddress(
                        NettyConfigKeys.Server.host(server.getProperties()),
                        NettyConfigKeys.Server.port(server.getProperties()));
        boolean epoll = NettyConfigKeys.Server.useEpoll(server.getProperties());
        this.accepting = NettyUtils.newEventLoopGroup("mds-raft-accept", 1, epoll);
        this.serving = NettyUtils.newEventLoopGroup("mds-raft-serve", 0, epoll);
    }

    @Override
    public RpcType getRpcType() {
        return SupportedRpcType.NETTY;
    }

    @Override
    protected void startImpl() throws IOException {
        try {
            listening =
                    new ServerBootstrap()
                            .group(accepting, serving)
                            .channel(NettyUtils.getServerChannelClass(accepting))
                            .childHandler(new Connection())
                            .bind(address)
                            .syncUninterruptibly()
                            .channel();
        } catch (Exception e) {
            // Netty throws the checked exception of a failed bind without declaring it.
            throw new IOException("the Raft port " + address + " cannot be opened", e);
        }
    }

    @Override
    public void closeImpl() throws IOException {
        @Nullable Channel open = listening;
        if (open != null) {
            open.close().syncUninterruptibly();
        }
        accepting.shutdownGracefully(0, 100, TimeUnit.MILLISECONDS).awaitUninterruptibly(1000);
        serving.shutdownGracefully(0, 100, TimeUnit.MILLISECONDS).awaitUninterruptibly(1000);
        super.closeImpl();
    }

    @Override
    public InetSocketAddress getInetSocketAddress() {
        return address;
    }

    // ---- received -----------------------------------------------------------

    private final class Connection extends ChannelInitializer<SocketChannel> {
        @Override
        protected void initChannel(SocketChannel channel) {
            if (!port.permits(channel.remoteAddress())) {
                channel.close();
                return;
            }
            channel.pipeline()
                    .addLast(
                            new BoundedFrames(),
                            new ProtobufDecoder(RaftNettyServerRequestProto.getDefaultInstance()),
                            new ProtobufVarint32LengthFieldPrepender(),
                            new ProtobufEncoder(),
                            new Requests());
        }
    }

    private final class Requests extends SimpleChannelInboundHandler<RaftNettyServerRequestProto> {
        /** Of a leader: who that is. */
        private @Nullable RaftPeerId appending;

        @Override
        protected void channelRead0(
                ChannelHandlerContext context, RaftNettyServerRequestProto request) {
            @Nullable RaftNettyServerReplyProto reply = answer(request);
            if (reply == null) {
                context.close();
                return;
            }
            if (reply.hasAppendEntriesReply() && appending == null) {
                ByteString id =
                        request.getAppendEntriesRequest().getServerRequest().getRequestorId();
                appending = RaftPeerId.valueOf(id);
            }
            context.writeAndFlush(reply);
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            if (appending != null) {
                disconnected.accept(appending);
            }
            context.fireChannelInactive();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            LOG.debug("the connection of {} is closed", context.channel().remoteAddress(), cause);
            context.close();
        }
    }

    /** Null for what members do not send: there is nobody to be answered. */
    private @Nullable RaftNettyServerReplyProto answer(RaftNettyServerRequestProto request) {
        RaftNettyServerReplyProto.Builder reply = RaftNettyServerReplyProto.newBuilder();
        RaftRpcRequestProto head = RaftRpcRequestProto.getDefaultInstance();
        try {
            switch (request.getRaftNettyServerRequestCase()) {
                case REQUESTVOTEREQUEST -> {
                    head = request.getRequestVoteRequest().getServerRequest();
                    reply.setRequestVoteReply(server.requestVote(request.getRequestVoteRequest()));
                }
                case APPENDENTRIESREQUEST -> {
                    head = request.getAppendEntriesRequest().getServerRequest();
                    reply.setAppendEntriesReply(
                            server.appendEntries(request.getAppendEntriesRequest()));
                }
                case INSTALLSNAPSHOTREQUEST -> {
                    head = request.getInstallSnapshotRequest().getServerRequest();
                    reply.setInstallSnapshotReply(
                            server.installSnapshot(request.getInstallSnapshotRequest()));
                }
                case STARTLEADERELECTIONREQUEST -> {
                    head = request.getStartLeaderElectionRequest().getServerRequest();
                    reply.setStartLeaderElectionReply(
                            server.startLeaderElection(request.getStartLeaderElectionRequest()));
                }
                default -> {
                    var _ = port.stranger(request.getRaftNettyServerRequestCase().name());
                    return null;
                }
            }
        } catch (IOException | RuntimeException e) {
            LOG.debug("a member's request failed", e);
            reply.setExceptionReply(failed(head, e));
        }
        return reply.build();
    }

    /** Only the words: the other side deserializes nothing but plain exceptions. */
    private static RaftNettyExceptionReplyProto failed(RaftRpcRequestProto head, Exception e) {
        return RaftNettyExceptionReplyProto.newBuilder()
                .setRpcReply(
                        RaftRpcReplyProto.newBuilder()
                                .setRequestorId(head.getRequestorId())
                                .setReplyId(head.getReplyId())
                                .setCallId(head.getCallId())
                                .setSuccess(false))
                .setException(ProtoUtils.writeObject2ByteString(new IOException(e.toString())))
                .build();
    }

    /** Frames with a varint length of at most five bytes, of at most {@link #MAX_FRAME_BYTES}. */
    static final class BoundedFrames extends ByteToMessageDecoder {
        @Override
        protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out) {
            int length = 0;
            for (int shift = 0, at = in.readerIndex(); at < in.writerIndex(); shift += 7, at++) {
                byte b = in.getByte(at);
                length |= (b & 0x7f) << shift;
                if (length < 0 || length > MAX_FRAME_BYTES || shift > 28) {
                    throw new TooLongFrameException("a frame of more than " + MAX_FRAME_BYTES);
                }
                if (b >= 0) {
                    if (in.writerIndex() - at - 1 >= length) {
                        in.readerIndex(at + 1);
                        out.add(in.readRetainedSlice(length));
                    }
                    return;
                }
            }
        }
    }

    // ---- sent ---------------------------------------------------------------

    @Override
    public void addRaftPeers(Collection<RaftPeer> added) {
        added.forEach(peer -> peers.put(peer.getId(), peer));
        super.addRaftPeers(added);
    }

    @Override
    public RequestVoteReplyProto requestVote(RequestVoteRequestProto request) throws IOException {
        return votes.ask(request);
    }

    private RequestVoteReplyProto sendVote(RequestVoteRequestProto request) throws IOException {
        return send(
                        request.getServerRequest(),
                        RaftNettyServerRequestProto.newBuilder().setRequestVoteRequest(request))
                .getRequestVoteReply();
    }

    /** By a connection of its own. */
    private RequestVoteReplyProto sendVoteAnew(
            RequestVoteRequestProto request, BooleanSupplier over) throws IOException {
        RaftRpcRequestProto head = request.getServerRequest();
        @Nullable RaftPeer peer = peers.get(RaftPeerId.valueOf(head.getReplyId()));
        if (peer == null) {
            throw new IOException("a vote is asked for of somebody unknown");
        }
        try (NettyRpcProxy proxy = new NettyRpcProxy(peer, server.getProperties(), serving)) {
            if (over.getAsBoolean()) {
                throw new IOException("the election is over");
            }
            return proxy.send(
                            head,
                            RaftNettyServerRequestProto.newBuilder()
                                    .setRequestVoteRequest(request)
                                    .build())
                    .getRequestVoteReply();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the election is over");
        }
    }

    @Override
    public AppendEntriesReplyProto appendEntries(AppendEntriesRequestProto request)
            throws IOException {
        return send(
                        request.getServerRequest(),
                        RaftNettyServerRequestProto.newBuilder().setAppendEntriesRequest(request))
                .getAppendEntriesReply();
    }

    @Override
    public InstallSnapshotReplyProto installSnapshot(InstallSnapshotRequestProto request)
            throws IOException {
        return send(
                        request.getServerRequest(),
                        RaftNettyServerRequestProto.newBuilder().setInstallSnapshotRequest(request))
                .getInstallSnapshotReply();
    }

    @Override
    public StartLeaderElectionReplyProto startLeaderElection(
            StartLeaderElectionRequestProto request) throws IOException {
        return send(
                        request.getServerRequest(),
                        RaftNettyServerRequestProto.newBuilder()
                                .setStartLeaderElectionRequest(request))
                .getStartLeaderElectionReply();
    }

    private RaftNettyServerReplyProto send(
            RaftRpcRequestProto head, RaftNettyServerRequestProto.Builder request)
            throws IOException {
        RaftPeerId to = RaftPeerId.valueOf(head.getReplyId());
        try {
            return getProxies().getProxy(to).send(head, request.build());
        } catch (IOException | RuntimeException e) {
            getProxies().handleException(to, e, false);
            throw e;
        }
    }
}
