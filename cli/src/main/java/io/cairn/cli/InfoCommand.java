package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.FileInfo;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.Method;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code cairn info}. */
@Command(
        name = "info",
        description = {
            "Show where a file is kept: inode, layout, and for each chunk its placement group and the",
            "disks and servers of its replicas. The cluster is the one of --dir or --mds: it must be",
            "the one that PATH is mounted from."
        })
final class InfoCommand extends ClusterCommand {
    private static final long DEFAULT_CHUNKS = 16;

    @Parameters(
            paramLabel = "PATH",
            arity = "0..1",
            description = "In a mounted file system; a symbolic link is shown itself.")
    private @Nullable Path path;

    @Option(
            names = "--inode",
            paramLabel = "NUMBER",
            description = "Instead of a path: as 'ls -i' shows it, and messages of servers.")
    private @Nullable Long inode;

    @Option(
            names = "--chunks",
            paramLabel = "COUNT",
            description = {"Show at most so many chunks, from --from on (default: 16)."})
    private long chunks = DEFAULT_CHUNKS;

    @Option(
            names = "--from",
            paramLabel = "CHUNK",
            description = "The first chunk to show (default: 0).")
    private long from;

    @Override
    public ExitCode call() throws IOException {
        if ((path == null) == (inode == null)) {
            throw usage("give either PATH or --inode");
        }
        if (chunks < 0 || from < 0) {
            throw usage("--chunks and --from must not be negative");
        }
        FileInfo info;
        try (AdminClient admin = connect()) {
            Attr attr = attr(admin, number());
            ClusterMap map = ClusterMap.of(admin.status().getMap());
            info = new FileInfo(attr, map, from, chunks);
        }
        if (json()) {
            printJson(info.asMap());
        } else {
            info.print(out());
            out().flush();
        }
        return ExitCode.SUCCESS;
    }

    private long number() throws IOException {
        Path at = path;
        return at == null ? Objects.requireNonNull(inode) : MountedPaths.inode(at);
    }

    private Attr attr(AdminClient admin, long number) {
        try {
            return admin.ask(
                            Method.GET_ATTR,
                            GetAttrRequest.newBuilder().setInode(number).build(),
                            GetAttrReply.parser())
                    .getAttr();
        } catch (FsException e) {
            if (e.errno() != Errno.ENOENT && e.errno() != Errno.ESTALE) {
                throw e;
            }
            throw new CommandException(
                    ExitCode.FAILURE,
                    path == null
                            ? "the cluster has no inode " + number
                            : "the cluster has no inode "
                                    + number
                                    + ", which is that of "
                                    + path
                                    + ": is it in a mount of this cluster? (--dir, --mds)");
        }
    }
}
