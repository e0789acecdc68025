package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.command.Pause;
import io.cairn.cli.local.ClusterDirectory;
import io.cairn.cli.output.Output;
import io.cairn.cli.output.Progress;
import io.cairn.client.api.ClientConfig;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command that asks a running cluster: which one, how, and where its answer is printed. */
abstract class ClusterCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Mixin private final ClusterOptions cluster = new ClusterOptions();

    @Mixin private final GlobalOptions options = new GlobalOptions();

    /**
     * To be closed by the command.
     *
     * @throws CommandException UNREACHABLE where the directory has no cluster
     */
    final AdminClient connect() throws IOException {
        return new AdminClient(cluster.members(), cluster.advice());
    }

    /**
     * For a session with the cluster.
     *
     * @param description what the administrator sees of it
     * @throws CommandException UNREACHABLE where the directory has no cluster
     */
    final ClientConfig clientConfig(String description) throws IOException {
        return ClientConfig.of(cluster.members()).describedAs(description);
    }

    /** The state directory of the cluster; empty where servers were named instead. */
    final Optional<ClusterDirectory> local() {
        return cluster.local();
    }

    final boolean json() {
        return options.json();
    }

    final PrintWriter out() {
        return spec().commandLine().getOut();
    }

    /** Prints the one document that {@code --json} asks for. */
    final void printJson(Object document) {
        new Output(out()).json(document);
    }

    /** To be closed before anything else is printed. */
    final Progress progress() {
        return Progress.on(out(), json());
    }

    /** One look at something that does not tell when it changes. */
    interface Look<T> {
        /** What it came to; null if not yet, and then the progress may be shown. */
        @Nullable T at(Progress progress) throws InterruptedException;
    }

    /** Looks until it has come to something. */
    final <T> T await(Duration between, Look<T> look) throws InterruptedException {
        try (Progress progress = progress()) {
            while (true) {
                @Nullable T seen = look.at(progress);
                if (seen != null) {
                    return seen;
                }
                Pause.of(between);
            }
        }
    }

    /** To be thrown: the command line is wrong. */
    final ParameterException usage(String problem) {
        return new ParameterException(spec().commandLine(), problem);
    }

    private CommandSpec spec() {
        return Objects.requireNonNull(spec);
    }
}
