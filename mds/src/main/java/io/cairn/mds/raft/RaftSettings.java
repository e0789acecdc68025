package io.cairn.mds.raft;

import io.cairn.mds.raft.MetaLogConfig.Member;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.RaftConfigKeys;
import org.apache.ratis.client.RaftClientConfigKeys;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.netty.NettyConfigKeys;
import org.apache.ratis.proto.RaftProtos.RaftPeerRole;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.server.RaftServerConfigKeys.Log;
import org.apache.ratis.server.RaftServerConfigKeys.Snapshot;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;

/** How Cairn runs Ratis, and why each setting is what it is. Stateless, any thread. */
final class RaftSettings {
    /** An entry, and with it a batch of mutations, may be this large. */
    static final SizeInBytes ENTRY_MAX = SizeInBytes.valueOf("4MB");

    /** Entries in flight at the leader; more are refused, and clients try again. */
    static final int PENDING_MAX = 8192;

    private RaftSettings() {}

    static RaftPeerId peerId(int member) {
        return RaftPeerId.valueOf("mds-" + member);
    }

    /** The member id in a peer id, 0 for one not made by {@link #peerId}. */
    static int member(RaftPeerId id) {
        String text = id.toString();
        try {
            return text.startsWith("mds-") ? Integer.parseInt(text.substring(4)) : 0;
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    static RaftGroup group(MetaLogConfig config) {
        return group(config, config.members().stream().map(RaftSettings::peer).toList());
    }

    /** A group without voters, to which this member listens. */
    static RaftGroup listening(MetaLogConfig config) {
        RaftPeer self =
                RaftPeer.newBuilder(peer(config.self()))
                        .setStartupRole(RaftPeerRole.LISTENER)
                        .build();
        return group(config, List.of(self));
    }

    private static RaftGroup group(MetaLogConfig config, List<RaftPeer> peers) {
        return RaftGroup.valueOf(RaftGroupId.valueOf(config.clusterId()), peers);
    }

    /** As the log has it: Cairn's address is Ratis's for clients. */
    static RaftPeer peer(Member member) {
        RaftPeer.Builder peer =
                RaftPeer.newBuilder().setId(peerId(member.id())).setAddress(member.raftAddress());
        if (!member.address().isEmpty()) {
            peer.setClientAddress(member.address());
        }
        return peer.build();
    }

    /** Reads what {@link #peer} has written. */
    static Member member(RaftPeer peer) {
        String raft = peer.getAddress();
        int colon = raft.lastIndexOf(':');
        @Nullable String address = peer.getClientAddress();
        return new Member(
                member(peer.getId()),
                raft.substring(0, colon),
                Integer.parseInt(raft.substring(colon + 1)),
                address == null ? "" : address);
    }

    static RaftProperties properties(MetaLogConfig config, MemberDirectory directory) {
        RaftProperties p = new RaftProperties();
        RaftServerConfigKeys.setStorageDir(p, List.of(directory.raft().toFile()));
        log(p);
        snapshots(p, config);
        elections(p, config.members().size());
        transport(p, config);
        return p;
    }

    private static void log(RaftProperties p) {
        // Durability: an entry counts only once it is synced. Both of these would acknowledge
        // before that (and are off by default; here so that nobody has to look it up).
        Log.setAsyncFlushEnabled(p, false);
        Log.setUnsafeFlushEnabled(p, false);
        // A sync is due when the queue is empty or after this many entries: with the default of 128
        // a burst pays for syncs that the next one covers.
        Log.setForceSyncNum(p, 4096);
        // Would write an entry with the commit index after each commit: twice the log. LogTail gets
        // it from our own entries.
        Log.setLogMetadataEnabled(p, false);
        // The torn tail of the open segment is cut by LogTail; any other damage stops the member.
        Log.setCorruptionPolicy(p, Log.CorruptionPolicy.EXCEPTION);
        Log.setSegmentSizeMax(p, SizeInBytes.valueOf("32MB"));
        Log.setPreallocatedSize(p, SizeInBytes.valueOf("4MB"));
        Log.setWriteBufferSize(p, SizeInBytes.valueOf("8MB"));
        Log.setSegmentCacheNumMax(p, 2);
        Log.setSegmentCacheSizeMax(p, SizeInBytes.valueOf("64MB"));
        // Larger than what may be pending, so that a submitting thread never blocks on the queue.
        Log.setQueueElementLimit(p, 2 * PENDING_MAX);
        Log.setQueueByteLimit(p, SizeInBytes.valueOf("128MB"));
        RaftServerConfigKeys.Write.setElementLimit(p, PENDING_MAX);
        RaftServerConfigKeys.Write.setByteLimit(p, SizeInBytes.valueOf("64MB"));
        Log.Appender.setBufferByteLimit(p, ENTRY_MAX);
        // Sessions give exactly-once; every entry is a new call to Ratis, so its own cache of
        // answers only costs memory.
        RaftServerConfigKeys.RetryCache.setExpiryTime(p, TimeDuration.ONE_SECOND);
    }

    private static void snapshots(RaftProperties p, MetaLogConfig config) {
        // Off by default, and then the log grows forever.
        Snapshot.setAutoTriggerEnabled(p, true);
        // MetaLog takes them before that, better prepared.
        Snapshot.setAutoTriggerThreshold(p, 2 * config.snapshotEntries());
        Snapshot.setCreationGap(p, 1);
        Snapshot.setTriggerWhenStopEnabled(p, true);
        Snapshot.setRetentionFileNum(p, 1);
        // Behind a checkpoint the log may go even if a member lacks it: that one gets the
        // checkpoint. Some entries stay, so that a member away for a moment needs only those.
        Log.setPurgeUptoSnapshotIndex(p, true);
        Log.setPurgeGap(p, 1);
        Log.setPurgePreservationLogNum(p, Math.min(10_000, config.snapshotEntries() / 4));
        Log.Appender.setInstallSnapshotEnabled(p, true);
        Log.Appender.setSnapshotChunkSizeMax(p, SizeInBytes.valueOf(KeptCheckpoint.CHUNK_BYTES));
    }

    private static void elections(RaftProperties p, int members) {
        // Above the longest collector pause seen with default heaps (270 ms), with margin.
        RaftServerConfigKeys.Rpc.setTimeoutMin(p, millis(500));
        RaftServerConfigKeys.Rpc.setTimeoutMax(p, millis(1000));
        // At start nobody leads yet; a group of one has nobody to wait for.
        RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMin(p, millis(members == 1 ? 10 : 200));
        RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMax(p, millis(members == 1 ? 20 : 500));
        RaftServerConfigKeys.Rpc.setRequestTimeout(p, millis(1000));
        RaftClientConfigKeys.Rpc.setRequestTimeout(p, millis(1000));
        // A member back from a partition must not raise the term of a group that has a leader.
        RaftServerConfigKeys.LeaderElection.setPreVote(p, true);
        // A leader without its majority says so after this time (default 10 s).
        RaftServerConfigKeys.LeaderElection.setLeaderStepDownWaitTime(p, millis(2000));
        // A new member that restores a large checkpoint says nothing meanwhile.
        RaftServerConfigKeys.setStagingTimeout(p, millis(30_000));
        // Not what our reads rest on (io.cairn.mds.leader.LeaderLease is), but it keeps Ratis's
        // own queries from running on an expired leadership.
        RaftServerConfigKeys.Read.setLeaderLeaseEnabled(p, true);
    }

    private static void transport(RaftProperties p, MetaLogConfig config) {
        Member self = config.self();
        RaftConfigKeys.Rpc.setType(p, new SyncedTransport());
        switch (config.transport()) {
            case NETTY -> {
                NettyConfigKeys.Server.setHost(p, self.raftHost());
                NettyConfigKeys.Server.setPort(p, self.raftPort());
            }
            case GRPC -> {
                GrpcConfigKeys.Server.setHost(p, self.raftHost());
                GrpcConfigKeys.Server.setPort(p, self.raftPort());
            }
        }
    }

    private static TimeDuration millis(long n) {
        return TimeDuration.valueOf(n, TimeUnit.MILLISECONDS);
    }
}
