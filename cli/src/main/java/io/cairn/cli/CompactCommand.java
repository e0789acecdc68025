package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.Pause;
import io.cairn.cli.output.DatabaseReport;
import io.cairn.common.proto.CompactRequest;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.DatabasesRequest;
import io.cairn.common.proto.Method;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code cairn compact PART}. */
@Command(
        name = "compact",
        description = {
            "Write the databases of a metadata or data server anew, each level to the device that",
            "its configuration means for it: after fast_size or the level sizes were changed.",
            "The server serves meanwhile. Ctrl-C ends only the showing of progress."
        })
final class CompactCommand extends ClusterCommand {
    private static final Duration LOOK_AGAIN = Duration.ofMillis(500);

    @Parameters(
            paramLabel = "PART",
            completionCandidates = PartNames.class,
            description = "mds-ID or data-ID, with the number that 'cairn status' shows.")
    private String part = "";

    /** For the shell: those of a small cluster. Any that the cluster has can be given. */
    static final class PartNames implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return List.of("mds-1", "mds-2", "mds-3", "data-1", "data-2", "data-3").iterator();
        }
    }

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        try (AdminClient admin = connect()) {
            InetSocketAddress server = new Servers(admin.status()).of(part);
            DatabasesReply reply =
                    admin.callServer(
                            server,
                            Method.COMPACT,
                            CompactRequest.getDefaultInstance(),
                            DatabasesReply.parser());
            Map<String, String> shown = new LinkedHashMap<>();
            while (running(reply)) {
                show(reply, shown);
                Pause.of(LOOK_AGAIN);
                reply =
                        admin.callServer(
                                server,
                                Method.DATABASES,
                                DatabasesRequest.getDefaultInstance(),
                                DatabasesReply.parser());
            }
            show(reply, shown);
            if (json()) {
                printJson(Map.of("databases", DatabaseReport.asList(reply)));
            }
            check(reply);
            return ExitCode.SUCCESS;
        }
    }

    private static boolean running(DatabasesReply reply) {
        return reply.getDatabasesList().stream().anyMatch(d -> d.getCompaction().getRunning());
    }

    /** A line for each database whose progress is another than before. */
    private void show(DatabasesReply reply, Map<String, String> shown) {
        if (json()) {
            return;
        }
        for (DatabaseStatus database : reply.getDatabasesList()) {
            String progress = DatabaseReport.progress(database);
            if (!progress.equals(shown.put(database.getName(), progress))) {
                out().printf("%s  %s  %s%n", part, database.getName(), progress);
            }
        }
        out().flush();
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
