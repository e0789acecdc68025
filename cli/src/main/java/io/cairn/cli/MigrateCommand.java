package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.migrate.Migration;
import io.cairn.cli.migrate.MigrationReport;
import io.cairn.cli.output.Progress;
import io.cairn.client.CairnClients;
import io.cairn.client.move.FileMover;
import io.cairn.client.move.MovePace;
import io.cairn.common.config.ByteSize;
import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Pool;
import io.cairn.fuse.mount.MountException;
import io.cairn.fuse.mount.MountedPath;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code cairn migrate}. */
@Command(
        name = "migrate",
        description = {
            "Move a file, or everything below a directory, into another pool, while it is used. Programs",
            "that read or write a file wait for a moment when it changes its pool; new files go there",
            "as soon as their directory has been visited. What is in the pool already is passed over, so",
            "that a migration that was ended goes on when it is begun again. Ends with exit code 1 when",
            "some files could not be moved: they are where they were, and named."
        })
final class MigrateCommand extends ClusterCommand {
    private static final int MAX_FILES = 64;

    @Parameters(
            paramLabel = "PATH",
            description = {
                "In a mount of the file system on this machine, or else as it is from the root of the file",
                "system on."
            })
    private String path = "";

    @Option(
            names = "--pool",
            paramLabel = "POOL",
            required = true,
            description = "By its name in 'cairn pool ls'.")
    private String pool = "";

    @Option(
            names = "--max-rate",
            paramLabel = "SIZE",
            description = "Bytes per second that are copied at most, such as 50MiB.")
    private @Nullable String maxRate;

    @Option(
            names = "--files",
            paramLabel = "N",
            description = "Files that are moved at a time, 1 to " + MAX_FILES + "; 8 if not given.")
    private int files = 8;

    @Option(names = "--dry-run", description = "Say how much is to be moved, and move nothing.")
    private boolean dryRun;

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        if (files < 1 || files > MAX_FILES) {
            throw usage("--files is 1 to " + MAX_FILES + ", and not " + files);
        }
        MovePace pace = new MovePace(bytesPerSecond(), 4 * Math.max(4, files));
        try (FileMover mover = connectMover()) {
            Thread onExit = Thread.ofPlatform().unstarted(mover::close);
            Runtime.getRuntime().addShutdownHook(onExit);
            MigrationReport report;
            try (Progress progress = progress()) {
                report =
                        new Migration(mover, target(mover), pace, files, progress)
                                .run(start(mover), dryRun);
            }
            removeHook(onExit);
            if (json()) {
                printJson(report.asMap());
            } else {
                report.print(out());
            }
            return report.isComplete() ? ExitCode.SUCCESS : ExitCode.FAILURE;
        }
    }

    private static void removeHook(Thread onExit) {
        try {
            Runtime.getRuntime().removeShutdownHook(onExit);
        } catch (IllegalStateException e) {
            // It runs already.
        }
    }

    private long bytesPerSecond() {
        if (maxRate == null) {
            return 0;
        }
        try {
            long bytes = ByteSize.parse(maxRate).bytes();
            if (bytes <= 0) {
                throw usage("--max-rate is more than nothing");
            }
            return bytes;
        } catch (IllegalArgumentException e) {
            throw usage("--max-rate: " + e.getMessage());
        }
    }

    private FileMover connectMover() throws IOException {
        return CairnClients.connectMover(
                clientConfig("cairn migrate, process " + ProcessHandle.current().pid()));
    }

    private Pool target(FileMover mover) {
        Pool found = mover.pool(pool);
        if (found == null) {
            throw usage(
                    "there is no pool %s, only %s"
                            .formatted(
                                    pool,
                                    mover.pools().stream()
                                            .map(Pool::getName)
                                            .collect(Collectors.joining(", "))));
        }
        return found;
    }

    /** What is to be moved. */
    private Attr start(FileMover mover) throws IOException {
        try {
            OptionalLong mounted = MountedPath.inode(Path.of(path));
            return mounted.isPresent()
                    ? mover.client().getAttr(mounted.getAsLong()).join()
                    : resolve(mover);
        } catch (MountException e) {
            throw new CommandException(ExitCode.FAILURE, String.valueOf(e.getMessage()));
        } catch (CompletionException e) {
            throw notFound(e);
        }
    }

    private Attr resolve(FileMover mover) {
        Attr at = mover.client().getAttr(mover.client().rootInode()).join();
        for (String name : path.split("/", -1)) {
            if (!name.isEmpty()) {
                at =
                        mover.client()
                                .lookup(at.getInode(), name.getBytes(StandardCharsets.UTF_8))
                                .join();
            }
        }
        return at;
    }

    private CommandException notFound(CompletionException thrown) {
        Throwable cause = Causes.of(thrown);
        String why =
                cause instanceof FsException e && e.errno() == Errno.ENOENT
                        ? "there is no such file, neither in a mount of Cairn on this machine nor from"
                                + " the root of the file system on"
                        : String.valueOf(cause.getMessage());
        return new CommandException(ExitCode.FAILURE, path + ": " + why);
    }
}
