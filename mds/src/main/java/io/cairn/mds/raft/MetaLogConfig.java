package io.cairn.mds.raft;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

/**
 * The configuration of one member of the Raft group.
 *
 * @param clusterId also the Raft group's id; the same for all members
 * @param memberId this member's id, one of members
 * @param members the group a new cluster begins with, at least this one; in a group that exists,
 *     its log says who the members are
 * @param directory this member's own: log, checkpoints, identity and lock
 * @param transport how members talk to each other
 * @param snapshotEntries a checkpoint is taken after this many log entries
 * @param snapshotInterval and at the latest after this time, if anything was logged
 * @param softSpaceBytes below this much free space {@link SpaceWatch.Level#LOW} is reported
 * @param hardSpaceBytes below this much the member stops
 * @param checkAddresses whether only connections from the members' Raft hosts are taken
 */
public record MetaLogConfig(
        UUID clusterId,
        int memberId,
        List<Member> members,
        Path directory,
        Transport transport,
        long snapshotEntries,
        Duration snapshotInterval,
        long softSpaceBytes,
        long hardSpaceBytes,
        boolean checkAddresses) {

    public MetaLogConfig {
        members = List.copyOf(members);
        if (members.stream().map(Member::id).distinct().count() != members.size()) {
            throw new IllegalArgumentException("two members have the same id");
        }
        if (members.stream().noneMatch(m -> m.id() == memberId)) {
            throw new IllegalArgumentException("member " + memberId + " is not in the group");
        }
        if (hardSpaceBytes > softSpaceBytes) {
            throw new IllegalArgumentException("the hard space limit is above the soft one");
        }
    }

    /** This member. */
    public Member self() {
        return member(memberId);
    }

    private Member member(int id) {
        return members.stream().filter(m -> m.id() == id).findFirst().orElseThrow();
    }

    /**
     * A member of the group.
     *
     * @param raftHost where its Raft transport listens
     * @param address where Cairn's clients and the other members reach it, {@code host:port}; empty
     *     where it is not known
     */
    public record Member(int id, String raftHost, int raftPort, String address) {
        String raftAddress() {
            return raftHost + ":" + raftPort;
        }
    }

    /** Ratis's transports; docs/adr/0003-raft-transport.md says which to use when. */
    public enum Transport {
        NETTY,
        GRPC
    }
}
