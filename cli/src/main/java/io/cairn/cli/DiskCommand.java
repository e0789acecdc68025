package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandGroup;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.DiskTable;
import java.io.IOException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code cairn disk}. */
@Command(
        name = "disk",
        description = "The disks of data servers: what they have, and out of placement with them.",
        subcommands = {
            DiskCommand.Ls.class,
            DiskAddCommand.class,
            DiskCommand.Drain.class,
            DiskCommand.Restore.class,
            DiskCommand.CanStop.class,
            DiskCommand.Reweight.class,
            DiskCommand.Remove.class,
            DiskCheckCommand.class
        })
final class DiskCommand extends CommandGroup {
    /** {@code cairn disk ls}. */
    @Command(
            name = "ls",
            description = {
                "List disks: data server, host and rack, state, size, weight, and how many replicas of placement",
                "groups they have, in sync, and lead. States: serving; out of service, away (its data server",
                "is down) and unknown, with the cause; absent (away for long, what it had is placed",
                "elsewhere); draining; drained (it can be removed)."
            })
    static final class Ls extends ClusterCommand {
        @Override
        public ExitCode call() throws IOException {
            DiskTable table;
            try (AdminClient admin = connect()) {
                table = new DiskTable(admin.status());
            }
            if (json()) {
                printJson(table.disksAsList());
            } else {
                table.printDisks(out());
            }
            return ExitCode.SUCCESS;
        }
    }

    /** {@code cairn disk drain}. */
    @Command(
            name = "drain",
            description = {
                "Take disks out of placement: what they have is copied to others, and they serve until",
                "that is done. All or none: refused where a pool would be left with fewer failure domains",
                "than it has replicas, or the other disks with more than they have room for."
            })
    static final class Drain extends IdsCommand {
        @Option(names = "--force", description = "Also where the others may have too little room.")
        private boolean force;

        @Override
        public ExitCode call() throws IOException {
            return drain(Kind.DISK, false, force);
        }
    }

    /** {@code cairn disk restore}. */
    @Command(
            name = "restore",
            description = {"Give drained disks placement groups again."})
    static final class Restore extends IdsCommand {
        @Override
        public ExitCode call() throws IOException {
            return drain(Kind.DISK, true, false);
        }
    }

    /** {@code cairn disk can-stop}. */
    @Command(
            name = "can-stop",
            description = {
                "Ask whether all placement groups would take writes without these disks. Exit code 0: yes;",
                "1: no, and what to wait for."
            })
    static final class CanStop extends IdsCommand {
        @Override
        public ExitCode call() throws IOException {
            return canStop(Kind.DISK);
        }
    }

    /** {@code cairn disk reweight}. */
    @Command(
            name = "reweight",
            description = {
                "Give a disk another weight: its share of the replicas is by capacity times weight. What is",
                "more or less than its share then moves by itself."
            })
    static final class Reweight extends ReweightCommand {
        @Override
        public ExitCode call() throws IOException {
            return reweight(IdsCommand.Kind.DISK);
        }
    }

    /** {@code cairn disk remove}. */
    @Command(
            name = "remove",
            description = {
                "Forget disks that are drained or absent, have no placement groups left, and do not serve: all",
                "or none. One that comes back is refused; without its files it is a new disk."
            })
    static final class Remove extends IdsCommand {
        @Override
        public ExitCode call() throws IOException {
            return remove(Kind.DISK);
        }
    }
}
