package io.cairn.mds.leader;

import io.cairn.common.config.HostPort;
import io.cairn.common.proto.MdsMember;
import io.cairn.mds.raft.MetaLogConfig;

/** Members of the group as the log has them, and as messages do. Stateless, any thread. */
final class GroupMembers {
    private GroupMembers() {}

    static MdsMember toProto(MetaLogConfig.Member member) {
        return MdsMember.newBuilder()
                .setId(member.id())
                .setAddress(member.address())
                .setRaftAddress(new HostPort(member.raftHost(), member.raftPort()).toString())
                .build();
    }

    /**
     * @throws IllegalArgumentException if it has no Raft address
     */
    static MetaLogConfig.Member fromProto(MdsMember member) {
        HostPort raft = HostPort.parse(member.getRaftAddress());
        return new MetaLogConfig.Member(
                member.getId(), raft.host(), raft.port(), member.getAddress());
    }
}
