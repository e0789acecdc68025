package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Setting;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code cairn set}. */
@Command(
        name = "set",
        description = {
            "Change a setting of the running cluster, for good: it outlives changes of the leader and",
            "restarts, and counts instead of the configuration. Without NAME and VALUE: list what",
            "can be set."
        })
final class SetCommand extends ClusterCommand {
    @Parameters(
            arity = "0..2",
            paramLabel = "[NAME VALUE]",
            hideParamSyntax = true,
            completionCandidates = Names.class,
            description = "NAME: such as reaper.rate or noout.")
    private List<String> words = List.of();

    /** For the shell. What there is, the leader knows. */
    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return List.of(
                            "reaper.rate",
                            "noout",
                            "norebalance",
                            "nodown",
                            "norecover",
                            "pause",
                            "moves.per_disk",
                            "recovery.max_rate",
                            "recovery.max_operations",
                            "noscrub",
                            "orphans.age",
                            "orphans.remove",
                            "orphans.max_share",
                            "space.near_full",
                            "space.full")
                    .iterator();
        }
    }

    @Override
    public ExitCode call() throws IOException {
        if (words.size() == 1) {
            throw usage(words.getFirst() + ": the value is missing");
        }
        if (words.size() > 2) {
            throw usage("'" + words.getLast() + "': one NAME and one VALUE");
        }
        SettingsRequest.Builder request = SettingsRequest.newBuilder();
        if (!words.isEmpty()) {
            if (words.getFirst().isEmpty()) {
                throw usage("the name is empty");
            }
            request.setName(words.getFirst()).setValue(words.getLast());
        }
        SettingsReply reply;
        try (AdminClient admin = connect()) {
            reply = admin.ask(Method.SETTINGS, request.build(), SettingsReply.parser());
        } catch (FsException e) {
            throw switch (e.errno()) {
                case EINVAL -> usage("'%s': %s".formatted(String.join(" ", words), e.detail()));
                case EAGAIN -> new CommandException(ExitCode.FAILURE, e.detail());
                case EOPNOTSUPP ->
                        new CommandException(
                                ExitCode.FAILURE,
                                "the leader of the metadata service is of a release without 'cairn"
                                        + " set': upgrade it first");
                default -> e;
            };
        }
        report(reply.getSettingsList());
        return ExitCode.SUCCESS;
    }

    private void report(List<Setting> settings) {
        if (json()) {
            printJson(settings.stream().map(SetCommand::asMap).toList());
            return;
        }
        PrintWriter out = out();
        String row = "%-16s %-10s %-16s %s%n";
        out.printf(row, "SETTING", "VALUE", "FROM", "ALLOWED");
        for (Setting s : settings) {
            out.printf(row, s.getName(), s.getValue(), from(s), s.getAllowed());
            out.printf("    %s%n", s.getMeaning());
        }
        out.flush();
    }

    private static String from(Setting setting) {
        if (setting.getSet()) {
            return "cairn set";
        }
        return setting.getBuiltIn() ? "default" : "configuration";
    }

    private static Map<String, Object> asMap(Setting setting) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("name", setting.getName());
        json.put("value", setting.getValue());
        json.put("from", from(setting));
        json.put("allowed", setting.getAllowed());
        json.put("meaning", setting.getMeaning());
        return json;
    }
}
