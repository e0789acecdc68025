package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandGroup;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.DiskTable;
import java.io.IOException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code cairn server}. */
@Command(
        name = "server",
        description =
                "The data servers: what their disks have, and out of placement with all of them.",
        subcommands = {
            ServerCommand.Ls.class,
            ServerAddCommand.class,
            ServerCommand.Drain.class,
            ServerCommand.Restore.class,
            ServerCommand.CanStop.class,
            ServerCommand.Reweight.class,
            ServerCommand.Remove.class
        })
final class ServerCommand extends CommandGroup {
    /** {@code cairn server ls}. */
    @Command(
            name = "ls",
            description = {
                "List data servers: address, host and rack, up or down, release, disks, and how many replicas",
                "of placement groups these have, in sync, and lead."
            })
    static final class Ls extends ClusterCommand {
        @Override
        public ExitCode call() throws IOException {
            DiskTable table;
            try (AdminClient admin = connect()) {
                table = new DiskTable(admin.status());
            }
            if (json()) {
                printJson(table.serversAsList());
            } else {
                table.printServers(out());
            }
            return ExitCode.SUCCESS;
        }
    }

    /** {@code cairn server drain}. */
    @Command(
            name = "drain",
            description = {
                "Take all disks of data servers out of placement: what they have is copied to others, and",
                "they serve until that is done. All or none: refused where a pool would be left with fewer",
                "failure domains than it has replicas, or the other disks with more than they have room for."
            })
    static final class Drain extends IdsCommand {
        @Option(names = "--force", description = "Also where the others may have too little room.")
        private boolean force;

        @Override
        public ExitCode call() throws IOException {
            return drain(Kind.SERVER, false, force);
        }
    }

    /** {@code cairn server restore}. */
    @Command(
            name = "restore",
            description = {"Give the disks of drained data servers placement groups again."})
    static final class Restore extends IdsCommand {
        @Override
        public ExitCode call() throws IOException {
            return drain(Kind.SERVER, true, false);
        }
    }

    /** {@code cairn server can-stop}. */
    @Command(
            name = "can-stop",
            description = {
                "Ask whether all placement groups would take writes without these data servers, before they",
                "are stopped. Exit code 0: yes; 1: no, and what to wait for."
            })
    static final class CanStop extends IdsCommand {
        @Override
        public ExitCode call() throws IOException {
            return canStop(Kind.SERVER);
        }
    }

    /** {@code cairn server reweight}. */
    @Command(
            name = "reweight",
            description = {
                "Give all disks of a data server another weight: their share of the replicas is by capacity",
                "times weight. What is more or less than that then moves by itself."
            })
    static final class Reweight extends ReweightCommand {
        @Override
        public ExitCode call() throws IOException {
            return reweight(IdsCommand.Kind.SERVER);
        }
    }

    /** {@code cairn server remove}. */
    @Command(
            name = "remove",
            description = {
                "Forget data servers that are down, and their disks, which are drained or absent and have no",
                "placement groups left: all or none. The disks are refused when they come back."
            })
    static final class Remove extends IdsCommand {
        @Override
        public ExitCode call() throws IOException {
            return remove(Kind.SERVER);
        }
    }
}
