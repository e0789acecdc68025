package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
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
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code cairn set}. */
@Command(
        name = "set",
        description = {
            "Change a setting of the running cluster, for good: it outlives changes of the leader and",
            "restarts, and counts instead of the configuration. Without NAME and VALUE: list what",
            "can be set."
        })
final class SetCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Mixin private final ClusterOptions cluster = new ClusterOptions();

    @Parameters(
            arity = "0..2",
            paramLabel = "[NAME VALUE]",
            hideParamSyntax = true,
            completionCandidates = Names.class,
            description = "NAME: such as reaper.rate.")
    private List<String> words = List.of();

    @Mixin private final GlobalOptions options = new GlobalOptions();

    /** For the shell. What there is, the leader knows. */
    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return List.of("reaper.rate").iterator();
        }
    }

    @Override
    public ExitCode call() throws IOException {
        if (words.size() == 1) {
            throw usage(words.getFirst() + ": the value is missing");
        }
        SettingsRequest.Builder request = SettingsRequest.newBuilder();
        if (!words.isEmpty()) {
            if (words.getFirst().isEmpty()) {
                throw usage("the name is empty");
            }
            request.setName(words.getFirst()).setValue(words.getLast());
        }
        SettingsReply reply;
        try (AdminClient admin = new AdminClient()) {
            reply =
                    admin.ask(
                            cluster.members(),
                            Method.SETTINGS,
                            request.build(),
                            SettingsReply.parser());
        } catch (FsException e) {
            throw switch (e.errno()) {
                case EINVAL -> usage("'%s': %s".formatted(String.join(" ", words), e.getMessage()));
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
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        if (options.json()) {
            new Output(out).json(settings.stream().map(SetCommand::asMap).toList());
            return;
        }
        String row = "%-16s %-10s %-16s %s%n";
        out.printf(row, "SETTING", "VALUE", "FROM", "ALLOWED");
        for (Setting s : settings) {
            out.printf(row, s.getName(), s.getValue(), from(s), s.getAllowed());
            out.printf("    %s%n", s.getMeaning());
        }
        out.flush();
    }

    private static String from(Setting setting) {
        return setting.getSet() ? "cairn set" : "configuration";
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

    private ParameterException usage(String problem) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), problem);
    }
}
