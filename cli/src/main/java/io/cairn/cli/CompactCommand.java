package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.Pause;
import io.cairn.cli.output.CompactionProgress;
import io.cairn.cli.output.DatabaseReport;
import io.cairn.cli.output.Progress;
import io.cairn.common.proto.CompactRequest;
import io.cairn.common.proto.DatabaseStatus;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.DatabasesRequest;
import io.cairn.common.proto.Method;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code cairn compact PART}. */
@Command(
        name = "compact",
        description = {
            "Do a full manual compaction of a metadata or data server, each level to the device that",
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
            reply = awaitEnd(admin, server, reply);
            if (json()) {
                printJson(Map.of("databases", DatabaseReport.asList(reply)));
            } else {
                DatabaseReport.printCompacted(part, reply, out());
            }
            check(reply);
            return ExitCode.SUCCESS;
        }
    }

    private DatabasesReply awaitEnd(
            AdminClient admin, InetSocketAddress server, DatabasesReply begun)
            throws InterruptedException {
        CompactionProgress compaction = new CompactionProgress(part);
        DatabasesReply reply = begun;
        try (Progress progress = progress()) {
            while (running(reply)) {
                progress.show(compaction.text(reply, System.nanoTime()));
                Pause.of(LOOK_AGAIN);
                reply =
                        admin.callServer(
                                server,
                                Method.DATABASES,
                                DatabasesRequest.getDefaultInstance(),
                                DatabasesReply.parser());
            }
        }
        return reply;
    }

    private static boolean running(DatabasesReply reply) {
        return reply.getDatabasesList().stream().anyMatch(d -> d.getCompaction().getRunning());
    }

    private void check(DatabasesReply reply) {
        for (DatabaseStatus database : reply.getDatabasesList()) {
            String error =
                    database.hasCompaction()
                            ? database.getCompaction().getError()
                            : "the server was restarted before it was done";
            if (!error.isEmpty()) {
                throw new CommandException(
                        ExitCode.FAILURE,
                        "%s: database %s is not compacted: %s"
                                .formatted(part, database.getName(), error));
            }
        }
    }
}
