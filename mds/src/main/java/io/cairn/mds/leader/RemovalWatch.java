package io.cairn.mds.leader;

import io.cairn.common.proto.GroupMembersReply;
import io.cairn.common.proto.GroupMembersRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcClient;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.raft.MetaLogConfig.Member;
import io.cairn.mds.raft.RaftMembership;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Notices that this member was removed from the group while it was away: nobody sends it anything
 * any more. While it knows no leader it asks those whom it takes for members who the members are.
 * The control thread only.
 */
public final class RemovalWatch {
    private static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** An election takes less. */
    private static final int LOOKS_WITHOUT_LEADER = 3;

    private final Leadership leadership;
    private final EntryLog entries;
    private final RpcClient client;
    private final Control control;
    private int looks;

    public RemovalWatch(
            Leadership leadership, EntryLog entries, RpcClient client, Control control) {
        this.leadership = leadership;
        this.entries = entries;
        this.client = client;
        this.control = control;
    }

    public void start() {
        var _ = control.every(EVERY_NANOS, this::look);
    }

    private void look() {
        @Nullable MetaLog log = entries.log();
        // One that joins is no member yet, or is one that the group waits for.
        if (log == null || !log.votes() || leadership.leader() != 0) {
            looks = 0;
            return;
        }
        if (++looks < LOOKS_WITHOUT_LEADER) {
            return;
        }
        for (Member member : log.membership().group().members()) {
            if (member.id() != leadership.self() && !member.address().isEmpty()) {
                ask(log.membership(), member);
            }
        }
    }

    private void ask(RaftMembership membership, Member member) {
        client.channel(RpcAddress.parse(member.address()))
                .call(
                        Method.GROUP_MEMBERS_VALUE,
                        GroupMembersRequest.getDefaultInstance(),
                        System.nanoTime() + EVERY_NANOS,
                        Heads.reply(
                                GroupMembersReply.parser(),
                                (status, reply) -> {
                                    if (reply != null && isRemovedBy(reply)) {
                                        membership.removed();
                                    }
                                }));
    }

    /** A leader answered, and what it says of the group is committed. */
    private boolean isRemovedBy(GroupMembersReply reply) {
        return reply.getChange().isEmpty()
                && reply.getMembersCount() > 0
                && reply.getMembersList().stream()
                        .noneMatch(m -> m.getMember().getId() == leadership.self());
    }
}
