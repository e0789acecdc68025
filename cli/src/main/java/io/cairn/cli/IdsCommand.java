package io.cairn.cli;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.CanStopReply;
import io.cairn.common.proto.CanStopRequest;
import io.cairn.common.proto.DrainReply;
import io.cairn.common.proto.DrainRequest;
import io.cairn.common.proto.DrainedDisk;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.RemoveReply;
import io.cairn.common.proto.RemoveRequest;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import picocli.CommandLine.Parameters;

/** A command on disks, or on data servers with all their disks, that are named by their ids. */
abstract class IdsCommand extends ClusterCommand {
    /** What the ids are of. */
    enum Kind {
        DISK("disk"),
        SERVER("data server");

        private final String text;

        Kind(String text) {
            this.text = text;
        }
    }

    @Parameters(
            paramLabel = "ID",
            arity = "1..*",
            description = "Numbers, as 'cairn disk ls' and 'cairn server ls' show them.")
    private List<Integer> ids = List.of();

    // ---- draining -------------------------------------------------------------------------------

    /**
     * @param restore back into placement
     * @param force also where the others may have too little room
     */
    final ExitCode drain(Kind kind, boolean restore, boolean force) throws IOException {
        DrainRequest.Builder request =
                DrainRequest.newBuilder().setRestore(restore).setForce(force);
        ids().forEach(kind == Kind.DISK ? request::addDisks : request::addServers);
        DrainReply reply =
                ask(Method.DRAIN, request.build(), DrainReply.parser(), "; nothing was changed");
        if (json()) {
            printJson(reply.getDisksList().stream().map(d -> asMap(d, restore)).toList());
            return ExitCode.SUCCESS;
        }
        PrintWriter out = out();
        for (DrainedDisk disk : reply.getDisksList()) {
            out.println(
                    "disk " + disk.getDisk() + " " + (restore ? restored(disk) : drained(disk)));
        }
        out.flush();
        return ExitCode.SUCCESS;
    }

    private static String drained(DrainedDisk disk) {
        if (disk.getReplicas() == 0) {
            return "is drained: no placement group has it, it can be removed";
        }
        return "%s drained: %d placement groups move off it; 'cairn disk ls' says when it can be removed"
                .formatted(
                        disk.getChanged() ? "is being" : "was already being", disk.getReplicas());
    }

    private static String restored(DrainedDisk disk) {
        return disk.getChanged()
                ? "is given placement groups again"
                : "was not drained: it is left as it is";
    }

    private static Map<String, Object> asMap(DrainedDisk disk, boolean restore) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("id", disk.getDisk());
        json.put("changed", disk.getChanged());
        json.put("pgs", disk.getReplicas());
        json.put("can_be_removed", !restore && disk.getReplicas() == 0);
        return json;
    }

    // ---- removal --------------------------------------------------------------------------------

    final ExitCode remove(Kind kind) throws IOException {
        RemoveRequest.Builder request = RemoveRequest.newBuilder();
        ids().forEach(kind == Kind.DISK ? request::addDisks : request::addServers);
        RemoveReply reply =
                ask(Method.REMOVE, request.build(), RemoveReply.parser(), "; nothing was changed");
        if (json()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("disks", reply.getDisksList());
            json.put("data_servers", reply.getServersList());
            printJson(json);
            return ExitCode.SUCCESS;
        }
        PrintWriter out = out();
        reply.getServersList().forEach(id -> out.println("data server " + id + " is removed"));
        reply.getDisksList().forEach(id -> out.println("disk " + id + " is removed"));
        out.flush();
        return ExitCode.SUCCESS;
    }

    // ---- stopping -------------------------------------------------------------------------------

    final ExitCode canStop(Kind kind) throws IOException {
        CanStopRequest.Builder request = CanStopRequest.newBuilder();
        ids().forEach(kind == Kind.DISK ? request::addDisks : request::addServers);
        CanStopReply reply = ask(Method.CAN_STOP, request.build(), CanStopReply.parser(), "");
        boolean can = reply.getStopping() == 0;
        if (json()) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("can_stop", can);
            json.put("pgs", reply.getAllGroups());
            json.put("stopping", reply.getStopping());
            json.put("stopped", reply.getStopped());
            json.put("wait_for", reply.getStepsList());
            printJson(json);
        } else {
            print(reply, named(kind));
        }
        return can ? ExitCode.SUCCESS : ExitCode.FAILURE;
    }

    private void print(CanStopReply reply, String what) {
        PrintWriter out = out();
        if (reply.getStopping() == 0) {
            out.printf(
                    "yes: all %,d placement groups take writes without %s%n",
                    reply.getAllGroups(), what);
        } else {
            out.printf(
                    "no: %,d of %,d placement groups would take no writes without %s%s%n",
                    reply.getStopping(),
                    reply.getAllGroups(),
                    what,
                    reply.getStopped() == 0
                            ? ""
                            : ", %,d of them take none now".formatted(reply.getStopped()));
            reply.getStepsList().forEach(step -> out.printf("    %s%n", step));
        }
        out.flush();
    }

    /** {@code data server 1, 2}. */
    private String named(Kind kind) {
        return kind.text
                + " "
                + ids().stream().map(String::valueOf).collect(Collectors.joining(", "));
    }

    // ---- both -----------------------------------------------------------------------------------

    private List<Integer> ids() {
        return ids.stream().distinct().toList();
    }

    /**
     * @param refused what is added to what the leader says when it refuses
     */
    private <R extends MessageLite> R ask(
            Method method, MessageLite request, Parser<R> parser, String refused)
            throws IOException {
        try (AdminClient admin = connect()) {
            return admin.ask(method, request, parser);
        } catch (FsException e) {
            throw failure(e, refused);
        }
    }

    /** What the leader refused, on one line. */
    static CommandException failure(FsException e, String refused) {
        return switch (e.errno()) {
            case EOPNOTSUPP ->
                    new CommandException(
                            ExitCode.FAILURE,
                            "the leader of the metadata service is of a release without this"
                                    + " command: upgrade it first");
            case ENOENT ->
                    new CommandException(
                            ExitCode.FAILURE,
                            e.detail() + refused + ", see: cairn disk ls, cairn server ls");
            default -> new CommandException(ExitCode.FAILURE, e.detail() + refused);
        };
    }
}
