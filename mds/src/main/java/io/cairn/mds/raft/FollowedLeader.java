package io.cairn.mds.raft;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionRequestProto;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.util.ProtoUtils;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The group as Ratis's division knows it. Any thread. */
final class FollowedLeader implements LeaderDeath.Group {
    private static final Logger LOG = LoggerFactory.getLogger(FollowedLeader.class);

    /** Longer than a round trip; whoever drops packets never answers. */
    private static final int CONNECT_MILLIS = 200;

    private final RaftServer server;
    private final RaftServer.Division division;

    FollowedLeader(RaftServer server, RaftServer.Division division) {
        this.server = server;
        this.division = division;
    }

    @Override
    public @Nullable RaftPeerId leader() {
        return division.getInfo().isFollower() ? division.getInfo().getLeaderId() : null;
    }

    @Override
    public long term() {
        return division.getInfo().getCurrentTerm();
    }

    @Override
    public boolean refuses(RaftPeerId member) {
        @Nullable RaftPeer peer = division.getGroup().getPeer(member);
        if (peer == null) {
            return false;
        }
        MetaLogConfig.Member known = RaftSettings.member(peer);
        try (Socket socket = new Socket()) {
            socket.connect(
                    new InetSocketAddress(known.raftHost(), known.raftPort()), CONNECT_MILLIS);
            return false;
        } catch (ConnectException e) {
            return true; // a time-out is another exception
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * By the request with which a leader hands over: Ratis takes it of the leader of the present
     * term only, and only if this member's log is no shorter than is said there.
     */
    @Override
    public void stand(RaftPeerId leader, long term) {
        @Nullable TermIndex last = division.getRaftLog().getLastEntryTermIndex();
        if (last == null || last.getTerm() != term) {
            return; // it has nothing of the term, and would hardly be elected
        }
        try {
            var _ =
                    server.startLeaderElection(
                            StartLeaderElectionRequestProto.newBuilder()
                                    .setServerRequest(
                                            RaftRpcRequestProto.newBuilder()
                                                    .setRequestorId(leader.toByteString())
                                                    .setReplyId(division.getId().toByteString())
                                                    .setRaftGroupId(
                                                            ProtoUtils.toRaftGroupIdProtoBuilder(
                                                                    division.getGroup()
                                                                            .getGroupId())))
                                    .setLeaderLastEntry(last.toProto())
                                    .build());
        } catch (IOException | RuntimeException e) {
            LOG.info("no election is begun before the timeout: {}", e.getMessage());
        }
    }
}
