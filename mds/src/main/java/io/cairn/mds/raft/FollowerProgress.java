package io.cairn.mds.raft;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto.AppendResult;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.leader.FollowerInfo;
import org.apache.ratis.server.raftlog.RaftLog;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lowers a follower's match index when the follower lacks entries that it had acknowledged: its
 * directory was lost, or replaced by an older one. Ratis never lowers a match index. Its leader
 * would go on counting entries as replicated that are not, and send nothing before the next entry
 * is logged.
 *
 * <p>Any thread: called by the thread that has received the follower's answer, before Ratis sees
 * it.
 */
final class FollowerProgress {
    private static final Logger LOG = LoggerFactory.getLogger(FollowerProgress.class);

    private final Map<RaftPeerId, FollowerInfo> followers = new ConcurrentHashMap<>();

    /** What a new leader knows of a member, from now on. */
    void follow(FollowerInfo follower) {
        followers.put(follower.getId(), follower);
    }

    /** A follower has answered. */
    void answered(AppendEntriesReplyProto reply) {
        if (reply.getResult() == AppendResult.INCONSISTENCY) {
            @Nullable FollowerInfo follower =
                    followers.get(RaftPeerId.valueOf(reply.getServerReply().getReplyId()));
            if (follower != null) {
                lacks(follower, reply.getNextIndex());
            }
        }
    }

    /**
     * The follower wants entries from {@code nextIndex} on. That an answer is old and it lacks
     * nothing does no harm: some entries are sent and acknowledged again.
     */
    static void lacks(FollowerInfo follower, long nextIndex) {
        if (nextIndex <= follower.getMatchIndex()) {
            LOG.warn(
                    "{} acknowledged entries up to {} and lacks those from {}: it gets them again",
                    follower.getId(),
                    follower.getMatchIndex(),
                    nextIndex);
            // The only way to take a match index back; Ratis sets the next index afterwards.
            follower.setSnapshotIndex(RaftLog.INVALID_LOG_INDEX);
        }
    }
}
