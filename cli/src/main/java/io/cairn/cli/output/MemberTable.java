package io.cairn.cli.output;

import io.cairn.common.proto.GroupMember;
import io.cairn.common.proto.GroupMembersReply;
import io.cairn.common.proto.MemberRole;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What {@code cairn mds ls} shows, as text or as JSON. */
public final class MemberTable {
    private final GroupMembersReply group;

    public MemberTable(GroupMembersReply group) {
        this.group = group;
    }

    public void print(PrintWriter out) {
        String row = "%-6s %-22s %-22s %-10s %-9s %10s %10s %8s%n";
        out.printf(row, "MEMBER", "ADDRESS", "RAFT", "ROLE", "STATE", "LOG", "APPLIED", "BEHIND");
        for (GroupMember member : group.getMembersList()) {
            out.printf(
                    row,
                    member.getMember().getId(),
                    member.getMember().getAddress(),
                    member.getMember().getRaftAddress(),
                    role(member.getRole()),
                    state(member),
                    known(member, member.getLastIndex()),
                    known(member, member.getAppliedIndex()),
                    known(member, member.getBehind()));
        }
        out.printf("term %d%n", group.getTerm());
        if (!group.getChange().isEmpty()) {
            out.println(group.getChange());
        }
        out.flush();
    }

    private static String known(GroupMember member, long figure) {
        return member.getReachable() ? Long.toString(figure) : "-";
    }

    private static String role(MemberRole role) {
        return switch (role) {
            case MEMBER_LEADER -> "leader";
            case MEMBER_FOLLOWER -> "follower";
            case MEMBER_LISTENER -> "listener";
            case MEMBER_ROLE_UNKNOWN, UNRECOGNIZED -> "unknown";
        };
    }

    private static String state(GroupMember member) {
        if (!member.getReachable()) {
            return "silent";
        }
        return member.getJoining() ? "joining" : "up";
    }

    public Map<String, Object> asMap() {
        List<Map<String, Object>> members = new ArrayList<>();
        for (GroupMember member : group.getMembersList()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("id", member.getMember().getId());
            json.put("address", member.getMember().getAddress());
            json.put("raft_address", member.getMember().getRaftAddress());
            json.put("role", role(member.getRole()));
            json.put("state", state(member));
            json.put("reachable", member.getReachable());
            json.put("last_index", member.getLastIndex());
            json.put("applied_index", member.getAppliedIndex());
            json.put("behind", member.getBehind());
            json.put("release", member.getRelease());
            members.add(json);
        }
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("term", group.getTerm());
        json.put("change", group.getChange());
        json.put("members", members);
        return json;
    }
}
