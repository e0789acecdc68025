package io.cairn.cli;

import com.google.protobuf.MessageLite;
import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.Pause;
import io.cairn.cli.output.MemberTable;
import io.cairn.common.config.HostPort;
import io.cairn.common.proto.AddMemberRequest;
import io.cairn.common.proto.ChangeMemberReply;
import io.cairn.common.proto.GroupMember;
import io.cairn.common.proto.GroupMembersReply;
import io.cairn.common.proto.GroupMembersRequest;
import io.cairn.common.proto.MemberRole;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.RemoveMemberRequest;
import io.cairn.common.proto.TransferLeaderReply;
import io.cairn.common.proto.TransferLeaderRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * Who is a member of the metadata service. A leader forgets what it was asked for when another is
 * elected: a command asks again, whoever leads, until it is done, and can be given again when it
 * was cut off.
 */
abstract class MembersCommand extends ClusterCommand {
    private static final Duration LOOK_AGAIN = Duration.ofMillis(300);

    /** An election takes a second or two. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @Override
    public final ExitCode call() throws IOException, InterruptedException {
        try (AdminClient admin = connect()) {
            return call(admin);
        }
    }

    abstract ExitCode call(AdminClient admin) throws InterruptedException;

    /** Those of which the leader knows; the command asks all of them from now on. */
    final GroupMembersReply members(AdminClient admin) {
        GroupMembersReply group =
                admin.ask(
                        Method.GROUP_MEMBERS,
                        GroupMembersRequest.getDefaultInstance(),
                        GroupMembersReply.parser());
        for (GroupMember member : group.getMembersList()) {
            admin.learn(HostPort.parse(member.getMember().getAddress()));
        }
        return group;
    }

    static boolean has(GroupMembersReply group, int id) {
        return group.getMembersList().stream().anyMatch(m -> m.getMember().getId() == id);
    }

    final void require(GroupMembersReply group, int id) {
        if (!has(group, id)) {
            throw new CommandException(
                    ExitCode.FAILURE, "there is no member " + id + ": see 'cairn mds ls'");
        }
    }

    final void add(AdminClient admin, int id, String address) throws InterruptedException {
        change(
                admin,
                Method.ADD_MEMBER,
                AddMemberRequest.newBuilder().setId(id).setAddress(address).build());
    }

    final void remove(AdminClient admin, int id) throws InterruptedException {
        change(admin, Method.REMOVE_MEMBER, RemoveMemberRequest.newBuilder().setId(id).build());
    }

    private void change(AdminClient admin, Method method, MessageLite request)
            throws InterruptedException {
        await(
                LOOK_AGAIN,
                progress -> {
                    ChangeMemberReply reply =
                            whoeverLeads(
                                    () -> admin.ask(method, request, ChangeMemberReply.parser()));
                    progress.show(reply.getPhase());
                    return reply.getDone() ? reply : null;
                });
    }

    /** Asks again while an election is held. */
    static <R> R whoeverLeads(Supplier<R> question) throws InterruptedException {
        long begun = System.nanoTime();
        while (true) {
            try {
                return question.get();
            } catch (CommandException e) {
                if (e.exitCode() != ExitCode.UNREACHABLE
                        || System.nanoTime() - begun > PATIENCE.toNanos()) {
                    throw e;
                }
            }
            Pause.of(LOOK_AGAIN);
        }
    }

    final ExitCode done(String text, Map<String, Object> json) {
        if (json()) {
            printJson(json);
        } else {
            out().println(text);
            out().flush();
        }
        return ExitCode.SUCCESS;
    }

    private static Map<String, Object> document(Object... pairs) {
        Map<String, Object> json = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            json.put((String) pairs[i], pairs[i + 1]);
        }
        return json;
    }

    /** {@code cairn mds ls}. */
    @Command(
            name = "ls",
            description = {
                "List the members of the metadata service: address, role, how far each one's log is, and how",
                "many of the leader's entries it has not applied. A listener gets the log and has no vote."
            })
    static final class Ls extends MembersCommand {
        @Override
        ExitCode call(AdminClient admin) {
            MemberTable table = new MemberTable(members(admin));
            if (json()) {
                printJson(table.asMap());
            } else {
                table.print(out());
            }
            return ExitCode.SUCCESS;
        }
    }

    /** {@code cairn mds add}. */
    @Command(
            name = "add",
            description = {
                "Add a member. Its server runs already, with an empty directory and --join. It gets the",
                "metadata while the group goes on, and its vote when it has them. Cut off: give the",
                "command again."
            })
    static final class Add extends MembersCommand {
        @Parameters(index = "0", paramLabel = "ID", description = "Its member_id.")
        private int id;

        @Parameters(
                index = "1",
                paramLabel = "ADDRESS",
                description = "Its address, as its own configuration has it.")
        private String address = "";

        @Override
        ExitCode call(AdminClient admin) throws InterruptedException {
            members(admin);
            add(admin, id, address);
            return done("member " + id + " is added and votes", document("id", id, "member", true));
        }
    }

    /** {@code cairn mds remove}. */
    @Command(
            name = "remove",
            description = {
                "Remove a member; of a leader, another is elected first. Its server stops. Refused where",
                "no majority of those that stay is up. One that is being added is not added."
            })
    static final class Remove extends MembersCommand {
        @Parameters(paramLabel = "ID", description = "As 'cairn mds ls' shows it.")
        private int id;

        @Override
        ExitCode call(AdminClient admin) throws InterruptedException {
            require(members(admin), id);
            remove(admin, id);
            return done("member " + id + " is removed", document("id", id, "member", false));
        }
    }

    /** {@code cairn mds replace}. */
    @Command(
            name = "replace",
            description = {
                "Add a member, as add does, and then remove another, which may be dead. Cut off: give the",
                "command again."
            })
    static final class Replace extends MembersCommand {
        @Parameters(index = "0", paramLabel = "OLD", description = "The member to be removed.")
        private int old;

        @Parameters(index = "1", paramLabel = "NEW", description = "The new one's member_id.")
        private int id;

        @Parameters(index = "2", paramLabel = "ADDRESS", description = "The new one's address.")
        private String address = "";

        @Override
        ExitCode call(AdminClient admin) throws InterruptedException {
            if (old == id) {
                throw usage("a member is replaced by one with another id");
            }
            GroupMembersReply group = members(admin);
            if (!has(group, id)) {
                require(group, old); // else it was cut off after the removal
            }
            add(admin, id, address);
            remove(admin, old);
            return done(
                    "member %d is replaced by member %d".formatted(old, id),
                    document("removed", old, "added", id));
        }
    }

    /** {@code cairn mds transfer-leader}. */
    @Command(
            name = "transfer-leader",
            description = "Have another member lead: before the leader's server is stopped.")
    static final class TransferLeader extends MembersCommand {
        @Parameters(paramLabel = "ID", description = "As 'cairn mds ls' shows it.")
        private int id;

        @Override
        ExitCode call(AdminClient admin) throws InterruptedException {
            require(members(admin), id);
            TransferLeaderRequest request = TransferLeaderRequest.newBuilder().setId(id).build();
            whoeverLeads(
                    () -> admin.ask(Method.TRANSFER_LEADER, request, TransferLeaderReply.parser()));
            awaitServing(admin);
            return done("member " + id + " leads", document("id", id, "leader", true));
        }

        /** A new leader answers once the leases of the earlier one are over. */
        private void awaitServing(AdminClient admin) throws InterruptedException {
            int leader = leader(whoeverLeads(() -> members(admin)));
            if (leader != id) {
                throw new CommandException(
                        ExitCode.FAILURE,
                        "member %d was elected, and member %d leads by now: give the command again"
                                .formatted(id, leader));
            }
        }

        private static int leader(GroupMembersReply group) {
            return group.getMembersList().stream()
                    .filter(m -> m.getRole() == MemberRole.MEMBER_LEADER)
                    .mapToInt(m -> m.getMember().getId())
                    .findFirst()
                    .orElse(0);
        }
    }
}
