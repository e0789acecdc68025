package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.DatabasesRequest;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.rpc.RpcAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The parts of a cluster that have databases, as {@code mds-1} or {@code data-2}: kind and id of
 * {@code cairn status}.
 */
final class Servers {
    private final Map<String, InetSocketAddress> addresses = new LinkedHashMap<>();

    Servers(StatusReply status) {
        for (MdsMember member : status.getMembersList()) {
            addresses.put("mds-" + member.getId(), RpcAddress.parse(member.getAddress()));
        }
        for (Server server : status.getMap().getServersList()) {
            addresses.put("data-" + server.getId(), RpcAddress.parse(server.getAddress()));
        }
    }

    /**
     * @throws CommandException USAGE naming those there are
     */
    InetSocketAddress of(String part) {
        InetSocketAddress address = addresses.get(part);
        if (address == null) {
            throw new CommandException(
                    ExitCode.USAGE,
                    "the cluster has no part "
                            + part
                            + "; those with databases are "
                            + String.join(", ", addresses.keySet()));
        }
        return address;
    }

    /** What every part says of its databases; of one that does not answer, why. */
    Map<String, Answer> databases(AdminClient admin) {
        Map<String, Answer> answers = new LinkedHashMap<>();
        addresses.forEach((part, address) -> answers.put(part, ask(admin, address)));
        return answers;
    }

    /**
     * @param failure why there is no answer; empty if there is
     */
    record Answer(DatabasesReply reply, String failure) {}

    private static Answer ask(AdminClient admin, InetSocketAddress address) {
        try {
            return new Answer(
                    admin.callServer(
                            address,
                            Method.DATABASES,
                            DatabasesRequest.getDefaultInstance(),
                            DatabasesReply.parser()),
                    "");
        } catch (CommandException e) {
            return new Answer(DatabasesReply.getDefaultInstance(), String.valueOf(e.getMessage()));
        }
    }
}
