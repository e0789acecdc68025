package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.DatabaseReport;
import io.cairn.cli.output.Output;
import io.cairn.common.proto.CompactRequest;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.DatabasesRequest;
import io.cairn.common.proto.Method;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code cairn compact PART}. */
@Command(
        name = "compact",
        description = {
            "Write the databases of a metadata or data server anew, each level to the device that",
            "its configuration means for it: after fast_size or the level sizes were changed.",
            "The server serves meanwhile. Ctrl-C ends only the showing of progress."
        })
final class CompactCommand implements Callable<ExitCode> {
    private static final long LOOK_AGAIN_MILLIS = 500;

    @Spec private @Nullable CommandSpec spec;

    @Parameters(
            paramLabel = "PART",
            completionCandidates = PartNames.class,
            description = "mds-ID or data-ID, with the number that 'cairn status' shows.")
    private String part = "";

    @Mixin private final ClusterOptions cluster = new ClusterOptions();

    @Mixin private final GlobalOptions options = new GlobalOptions();

    /** For the shell: those of a small cluster. Any that the cluster has can be given. */
    static final class PartNames implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return List.of("mds-1", "mds-2", "mds-3", "data-1", "data-2", "data-3").iterator();
        }
    }

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        try (AdminClient admin = new AdminClient()) {
            InetSocketAddress server = new Servers(admin.status(cluster.members())).of(part);
            DatabasesReply reply =
                    admin.callServer(
                            server,
                            Method.COMPACT,
                            CompactRequest.getDefaultInstance(),
                            DatabasesReply.parser());
            Map<String, String> shown = new LinkedHashMap<>();
            CountDownLatch never = new CountDownLatch(1); // Ctrl-C ends the process
            while (running(reply)) {
                show(reply, shown, out);
                var _ = never.await(LOOK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
                reply =
                        admin.callServer(
                                server,
                                Method.DATABASES,
                                DatabasesRequest.getDefaultInstance(),
                                DatabasesReply.parser());
            }
            show(reply, shown, out);
            if (options.json()) {
                new Output(out).json(Map.of("databases", DatabaseReport.asList(reply)));
            }
            check(reply);
            return ExitCode.SUCCESS;
        }
    }

    private static boolean running(DatabasesReply reply) {
        return reply.getDatabasesList().stream().anyMatch(d -> d.getCompaction().getRunning());
    }

    /** A line for each database whose progress is another than before. */
    private void show(DatabasesReply reply, Map<String, String> shown, PrintWriter out) {
        if (options.json()) {
            return;
        }
        for (DatabaseStatus database : reply.getDatabasesList()) {
            String progress = DatabaseReport.progress(database);
            if (!progress.equals(shown.put(database.getName(), progress))) {
                out.printf("%s  %s  %s%n", part, database.getName(), progress);
            }
        }
        out.flush();
    }

    private void check(DatabasesReply reply) {
        for (DatabaseStatus database : reply.getDatabasesList()) {
            String error =
                    database.hasCompaction()
                            ? database.getCompaction().getError()
                            : "the server was started anew before it was done";
            if (!error.isEmpty()) {
                throw new CommandException(
                        ExitCode.FAILURE,
                        "%s: database %s is not compacted: %s"
                                .formatted(part, database.getName(), error));
            }
        }
    }
}
