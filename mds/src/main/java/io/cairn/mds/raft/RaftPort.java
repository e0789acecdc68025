package io.cairn.mds.raft;

import io.cairn.common.time.NanoClock;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.proto.RaftProtos.RaftPeerProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which messages the Raft port accepts: requestVote, appendEntries, installSnapshot and
 * startLeaderElection, from another member of this group to this one, with entries that this member
 * can decode.
 *
 * <p>Ratis's transports serve much more to whoever connects: client writes, another configuration,
 * removal of the group, reads, pausing elections. Cairn has no use for any of that between members:
 * entries and changes of the members come from this process's own leader, and reads are answered
 * under Cairn's lease. One such write would be committed everywhere, and every member would stop at
 * it, at each start.
 *
 * <p>Members are those that the log names, those of the configuration file, and those that a leader
 * has told of: one that has been away may not have the log that names them.
 *
 * <p>There is no authentication yet: a process on a member's host can still pretend to be that
 * member.
 *
 * <p>Any thread.
 */
final class RaftPort {
    private static final Logger LOG = LoggerFactory.getLogger(RaftPort.class);
    private static final long LOG_EVERY_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final ByteString group;
    private final ByteString self;
    private final List<MetaLogConfig.Member> configured;
    private volatile Set<ByteString> members;
    private final @Nullable MemberAddresses addresses;
    private final ReplicatedState state;
    private final NanoClock clock;
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong loggedNanos;

    /**
     * @param addresses null: connections may come from anywhere
     */
    RaftPort(
            MetaLogConfig config,
            @Nullable MemberAddresses addresses,
            ReplicatedState state,
            NanoClock clock) {
        this.group = RaftSettings.group(config).getGroupId().toByteString();
        this.self = RaftSettings.peerId(config.memberId()).toByteString();
        this.configured = config.members();
        this.members = ids(configured);
        this.addresses = addresses;
        this.state = state;
        this.clock = clock;
        this.loggedNanos = new AtomicLong(clock.nanos() - LOG_EVERY_NANOS);
    }

    private static Set<ByteString> ids(Collection<MetaLogConfig.Member> members) {
        return members.stream()
                .map(m -> RaftSettings.peerId(m.id()).toByteString())
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Besides those of the configuration file, these are members from now on. */
    void know(Collection<MetaLogConfig.Member> others) {
        Set<MetaLogConfig.Member> all = new HashSet<>(configured);
        all.addAll(others);
        members = ids(all);
        if (addresses != null) {
            addresses.hosts(all.stream().map(MetaLogConfig.Member::raftHost).toList());
        }
    }

    /** Whether a connection may come from there; asked before anything of it is read. */
    boolean permits(@Nullable SocketAddress from) {
        if (addresses == null || addresses.permits(from)) {
            return true;
        }
        note("a connection from " + from + ", which is no member's address");
        return false;
    }

    /** A request that no member sends: what is to be thrown. */
    IOException stranger(String method) {
        return refuse(method + ", which members do not send each other");
    }

    /** A vote is asked for, or an election. */
    void admit(RaftRpcRequestProto head) throws IOException {
        if (!head.getRaftGroupId().getId().equals(group)) {
            throw refuse("a message for another Raft group");
        }
        if (!head.getReplyId().equals(self)) {
            throw refuse("a message for another member");
        }
        if (!members.contains(head.getRequestorId()) || head.getRequestorId().equals(self)) {
            throw refuse("a message of somebody who is no other member of this group");
        }
    }

    void admit(AppendEntriesRequestProto request) throws IOException {
        admit(request.getServerRequest());
        for (LogEntryProto entry : request.getEntriesList()) {
            admit(entry);
        }
    }

    void admit(InstallSnapshotRequestProto request) throws IOException {
        admit(request.getServerRequest());
        if (request.hasLastRaftConfigurationLogEntryProto()) {
            admit(request.getLastRaftConfigurationLogEntryProto());
        }
    }

    private void admit(LogEntryProto entry) throws IOException {
        switch (entry.getLogEntryBodyCase()) {
            case STATEMACHINELOGENTRY -> {
                ByteString data = entry.getStateMachineLogEntry().getLogData();
                if (!LogDataFormat.readable(data.asReadOnlyByteBuffer(), state::readable)) {
                    throw refuse("log entry " + entry.getIndex() + ", which cannot be decoded");
                }
            }
            case CONFIGURATIONENTRY -> {
                if (!isGroup(entry.getConfigurationEntry())) {
                    throw refuse("log entry " + entry.getIndex() + ", which names no group");
                }
            }
            case METADATAENTRY -> {}
            case LOGENTRYBODY_NOT_SET ->
                    throw refuse("log entry " + entry.getIndex() + ", which has no content");
        }
    }

    /** Whether it has members that vote, and all of them are members of a group of Cairn's. */
    private static boolean isGroup(RaftConfigurationProto configuration) {
        return configuration.getPeersCount() > 0
                && Stream.of(
                                configuration.getPeersList(),
                                configuration.getOldPeersList(),
                                configuration.getListenersList(),
                                configuration.getOldListenersList())
                        .flatMap(List::stream)
                        .map(RaftPeerProto::getId)
                        .allMatch(id -> RaftSettings.member(RaftPeerId.valueOf(id)) > 0);
    }

    /** How much was refused since the start. */
    long refused() {
        return refused.get();
    }

    /** Without a cause: it travels, and the other side reads nothing but plain exceptions. */
    private IOException refuse(String what) {
        note(what);
        return new IOException("the Raft port refuses " + what);
    }

    /** Whoever floods the port does not fill the log. */
    private void note(String what) {
        long number = refused.incrementAndGet();
        long now = clock.nanos();
        long last = loggedNanos.get();
        if (now - last >= LOG_EVERY_NANOS && loggedNanos.compareAndSet(last, now)) {
            LOG.warn("the Raft port refused {} ({} times something so far)", what, number);
        }
    }
}
