package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.ListLocksReply;
import io.cairn.common.proto.ListLocksRequest;
import io.cairn.common.proto.Method;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code cairn locks}. */
@Command(
        name = "locks",
        description = {
            "List the locks that programs hold, and those they wait for: of one file, or of all. With",
            "the number of the session, as 'cairn session ls' shows it, and of the process on its",
            "machine. Of ranges (fcntl) the first and the last byte; of flock the whole file. Waiting",
            "calls are as the leader knows them now."
        })
final class LocksCommand extends ClusterCommand {
    @Parameters(
            paramLabel = "PATH",
            arity = "0..1",
            description = "A file in a mounted file system of this cluster; else all files.")
    private @Nullable Path path;

    @Option(
            names = "--inode",
            paramLabel = "NUMBER",
            description = "Instead of a path: as 'ls -i' shows it.")
    private @Nullable Long inode;

    private record Row(FileLock lock, boolean held) {}

    @Override
    public ExitCode call() throws IOException {
        if (path != null && inode != null) {
            throw usage("give PATH or --inode, not both");
        }
        Path at = path;
        Long number = inode;
        long wanted = at != null ? MountedPaths.inode(at) : number != null ? number : 0;
        List<Row> rows = new ArrayList<>();
        try (AdminClient admin = connect()) {
            ListLocksReply reply;
            long after = 0;
            do {
                reply =
                        admin.ask(
                                Method.LIST_LOCKS,
                                ListLocksRequest.newBuilder()
                                        .setInode(wanted)
                                        .setAfterInode(after)
                                        .build(),
                                ListLocksReply.parser());
                reply.getLocksList().forEach(lock -> rows.add(new Row(lock, true)));
                reply.getWaitingList().forEach(lock -> rows.add(new Row(lock, false)));
                if (reply.getLocksCount() > 0) {
                    after = reply.getLocks(reply.getLocksCount() - 1).getInode();
                }
            } while (!reply.getEnd());
        }
        if (json()) {
            printJson(rows.stream().map(LocksCommand::asMap).toList());
        } else {
            print(rows);
        }
        return ExitCode.SUCCESS;
    }

    private void print(List<Row> rows) {
        PrintWriter out = out();
        String columns = "%-12s %-8s %-8s %-6s %-9s %-8s %20s %20s%n";
        out.printf(columns, "INODE", "SESSION", "PROCESS", "KIND", "MODE", "STATE", "FROM", "TO");
        for (Row row : rows) {
            FileLock lock = row.lock;
            out.printf(
                    columns,
                    lock.getInode(),
                    lock.getSession(),
                    lock.getPid(),
                    kind(lock),
                    mode(lock),
                    state(row),
                    lock.getFlock() ? "" : lock.getStart(),
                    lock.getFlock() ? "" : isToTheEnd(lock) ? "end" : lock.getEnd());
        }
        out.flush();
    }

    private static String kind(FileLock lock) {
        return lock.getFlock() ? "flock" : "range";
    }

    private static String mode(FileLock lock) {
        return lock.getExclusive() ? "exclusive" : "shared";
    }

    private static String state(Row row) {
        return row.held ? "held" : "waiting";
    }

    private static boolean isToTheEnd(FileLock lock) {
        return lock.getEnd() == Long.MAX_VALUE;
    }

    private static Map<String, Object> asMap(Row row) {
        FileLock lock = row.lock;
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("inode", lock.getInode());
        json.put("session", lock.getSession());
        json.put("process", lock.getPid());
        json.put("kind", kind(lock));
        json.put("mode", mode(lock));
        json.put("state", state(row));
        if (!lock.getFlock()) {
            json.put("first_byte", lock.getStart());
            if (!isToTheEnd(lock)) {
                json.put("last_byte", lock.getEnd());
            }
        }
        return json;
    }
}
