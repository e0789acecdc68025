package io.cairn.cli;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
import io.cairn.common.release.Release;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code cairn version}. */
@Command(name = "version", description = "Print the version of Cairn and of the Java it runs on.")
final class VersionCommand implements Callable<ExitCode> {
    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Spec private @Nullable CommandSpec spec;

    @Override
    public ExitCode call() {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("version", Release.CURRENT);
        facts.put("java", Runtime.version().toString());
        Output out = new Output(Objects.requireNonNull(spec).commandLine().getOut());
        if (options.json()) {
            out.json(facts);
        } else {
            out.line("cairn " + facts.get("version") + ", Java " + facts.get("java"));
        }
        return ExitCode.SUCCESS;
    }
}
