package io.cairn.cli;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandGroup;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.DeviceClassNames;
import io.cairn.cli.output.PoolTable;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.CreatePoolRequest;
import io.cairn.common.proto.DeviceClass;
import io.cairn.common.proto.FailureDomain;
import io.cairn.common.proto.ListPoolsReply;
import io.cairn.common.proto.ListPoolsRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.PoolReply;
import io.cairn.common.proto.RemovePoolRequest;
import io.cairn.common.proto.SetPoolRequest;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code cairn pool}. */
@Command(
        name = "pool",
        description = {
            "Pools: how many replicas the data of files has, and on which disks. A directory's layout names",
            "the pool of new files in it: setfattr -n cairn.layout -v pool=NAME DIRECTORY."
        },
        subcommands = {
            PoolCommand.Ls.class,
            PoolCommand.Create.class,
            PoolCommand.Rename.class,
            PoolCommand.Set.class,
            PoolCommand.Remove.class
        })
final class PoolCommand extends CommandGroup {
    /** Where no two replicas are in one. */
    enum Domain {
        DISK(FailureDomain.FAILURE_DOMAIN_DISK),
        SERVER(FailureDomain.FAILURE_DOMAIN_SERVER),
        HOST(FailureDomain.FAILURE_DOMAIN_HOST),
        RACK(FailureDomain.FAILURE_DOMAIN_RACK);

        private final FailureDomain value;

        Domain(FailureDomain value) {
            this.value = value;
        }
    }

    /** What all of them share. */
    abstract static class PoolsCommand extends ClusterCommand {
        final <R extends MessageLite> R ask(Method method, MessageLite request, Parser<R> parser)
                throws IOException {
            try (AdminClient admin = connect()) {
                return admin.ask(method, request, parser);
            } catch (FsException e) {
                throw IdsCommand.failure(e, "; nothing was changed");
            }
        }

        final List<DeviceClass> classes(String text) {
            try {
                return DeviceClassNames.parse(text);
            } catch (IllegalArgumentException e) {
                throw usage(String.valueOf(e.getMessage()));
            }
        }

        /** The leader says what is allowed; a negative number would be none to it. */
        final int percent(int value) {
            if (value < 0) {
                throw usage("percent are not negative, as " + value + " is");
            }
            return value;
        }

        final ExitCode changed(Method method, MessageLite request, String what) throws IOException {
            Pool pool = ask(method, request, PoolReply.parser()).getPool();
            if (json()) {
                printJson(PoolTable.asMap(pool));
            } else {
                out().println("pool " + pool.getName() + " " + what);
                out().flush();
            }
            return ExitCode.SUCCESS;
        }
    }

    /** {@code cairn pool ls}. */
    @Command(
            name = "ls",
            description = {
                "List pools: replicas, how many must be in sync for writes, placement groups and how many of",
                "them have replicas, failure domain, device classes of the replicas, and how many files,",
                "directories and deleted files whose data is not gone yet name it (not counted for the first",
                "pool)."
            })
    static final class Ls extends PoolsCommand {
        @Override
        public ExitCode call() throws IOException {
            ListPoolsReply reply =
                    ask(
                            Method.LIST_POOLS,
                            ListPoolsRequest.getDefaultInstance(),
                            ListPoolsReply.parser());
            if (json()) {
                printJson(reply.getPoolsList().stream().map(PoolTable::asMap).toList());
            } else {
                PoolTable.print(reply.getPoolsList(), out());
            }
            return ExitCode.SUCCESS;
        }
    }

    /** {@code cairn pool create}. */
    @Command(
            name = "create",
            description = {
                "Make a pool. Refused where there are fewer failure domains, with disks of the device classes",
                "it asks for, than replicas."
            })
    static final class Create extends PoolsCommand {
        @Parameters(paramLabel = "NAME", description = "A letter, then letters, digits, . _ and -.")
        private String name = "";

        @Option(names = "--size", paramLabel = "N", description = "Replicas, 3 if not given.")
        private int size = 3;

        @Option(
                names = "--min-size",
                paramLabel = "N",
                description = "With fewer in sync nothing is written; 2 if not given, 1 of size 1.")
        private int minSize;

        @Option(
                names = "--pgs",
                paramLabel = "N",
                description = {
                    "Placement groups to begin with. If not given: so many that each disk has at least 50",
                    "replicas, and more as disks come (see 'cairn pool set --pgs auto')."
                })
        private int pgs;

        @Option(
                names = "--failure-domain",
                paramLabel = "DOMAIN",
                description =
                        "No two replicas are in one: disk, server (if not given), host or rack.")
        private Domain domain = Domain.SERVER;

        @Option(
                names = "--device-class",
                paramLabel = "CLASS[,CLASS...]",
                description = {
                    "ssd or hdd for all replicas; or one for each, the primary's first and equal ones side",
                    "by side, as in ssd,hdd,hdd; any, if not given."
                })
        private String classes = "any";

        @Option(
                names = "--near-full",
                paramLabel = "PERCENT",
                description =
                        "Used of a disk from which it is near full; space.near_full if not given.")
        private @Nullable Integer nearFull;

        @Option(
                names = "--full",
                paramLabel = "PERCENT",
                description = {
                    "Used of a disk from which it is full, and the pool takes no new data; space.full if not",
                    "given."
                })
        private @Nullable Integer full;

        @Override
        public ExitCode call() throws IOException {
            Pool.Builder pool =
                    Pool.newBuilder()
                            .setName(name)
                            .setSize(size)
                            .setMinSize(minSize)
                            .setPgCount(pgs)
                            .setFailureDomain(domain.value)
                            .addAllReplicaClasses(classes(classes));
            if (nearFull != null) {
                pool.setNearFullPercent(percent(nearFull));
            }
            if (full != null) {
                pool.setFullPercent(percent(full));
            }
            return changed(
                    Method.CREATE_POOL,
                    CreatePoolRequest.newBuilder().setPool(pool).build(),
                    "is made");
        }
    }

    /** {@code cairn pool rename}. */
    @Command(
            name = "rename",
            description = "Give a pool another name; layouts that name it follow.")
    static final class Rename extends PoolsCommand {
        @Parameters(index = "0", paramLabel = "NAME", description = "As it is called now.")
        private String name = "";

        @Parameters(index = "1", paramLabel = "NEW", description = "As it is to be called.")
        private String newName = "";

        @Override
        public ExitCode call() throws IOException {
            return changed(
                    Method.SET_POOL,
                    SetPoolRequest.newBuilder().setName(name).setNewName(newName).build(),
                    "is called so now");
        }
    }

    /** {@code cairn pool set}. */
    @Command(
            name = "set",
            description = {
                "Change a pool: what its placement groups have too much of, too little, or in the wrong place",
                "is moved by itself. Options as of 'cairn pool create'; what is not given stays."
            })
    static final class Set extends PoolsCommand {
        @Parameters(paramLabel = "NAME", description = "Of the pool.")
        private String name = "";

        @Option(names = "--size", paramLabel = "N", description = "Replicas.")
        private @Nullable Integer size;

        @Option(
                names = "--min-size",
                paramLabel = "N",
                description = "With fewer in sync nothing is written.")
        private @Nullable Integer minSize;

        @Option(
                names = "--pgs",
                paramLabel = "N|auto",
                description = {
                    "How many placement groups it is to have: they are split or merged one by one, while",
                    "clients go on. Not fewer than it was made with. auto: more whenever its disks have",
                    "fewer than 50 replicas each, fewer where they have more than 400."
                })
        private @Nullable String pgs;

        @Option(
                names = "--failure-domain",
                paramLabel = "DOMAIN",
                description = "disk, server, host or rack.")
        private @Nullable Domain domain;

        @Option(
                names = "--device-class",
                paramLabel = "CLASS[,CLASS...]",
                description = "any, ssd or hdd, or one for each replica.")
        private @Nullable String classes;

        @Option(
                names = "--near-full",
                paramLabel = "PERCENT",
                description = "As of 'cairn pool create'; 0: space.near_full again.")
        private @Nullable Integer nearFull;

        @Option(
                names = "--full",
                paramLabel = "PERCENT",
                description = "As of 'cairn pool create'; 0: space.full again.")
        private @Nullable Integer full;

        @Override
        public ExitCode call() throws IOException {
            SetPoolRequest.Builder request = SetPoolRequest.newBuilder().setName(name);
            if (pgs != null) {
                setPgs(request, pgs);
            }
            if (size != null) {
                request.setSize(size);
            }
            if (minSize != null) {
                request.setMinSize(minSize);
            }
            if (domain != null) {
                request.setFailureDomain(domain.value);
            }
            if (classes != null) {
                request.setSetClasses(true).addAllReplicaClasses(classes(classes));
            }
            if (nearFull != null) {
                request.setNearFullPercent(percent(nearFull));
            }
            if (full != null) {
                request.setFullPercent(percent(full));
            }
            return changed(
                    Method.SET_POOL,
                    request.build(),
                    "is changed: 'cairn balance --plan' says what moves");
        }

        private void setPgs(SetPoolRequest.Builder request, String wanted) {
            if (wanted.equals("auto")) {
                request.setPgAuto(true);
                return;
            }
            try {
                request.setPgCount(Integer.parseInt(wanted));
            } catch (NumberFormatException e) {
                throw usage("--pgs is a number of placement groups or auto, and not " + wanted);
            }
        }
    }

    /** {@code cairn pool remove}. */
    @Command(
            name = "remove",
            description = {
                "Remove a pool. Refused while a file, a directory's layout, or data of deleted files is in it,",
                "and for the first pool."
            })
    static final class Remove extends PoolsCommand {
        @Parameters(paramLabel = "NAME", description = "Of the pool.")
        private String name = "";

        @Override
        public ExitCode call() throws IOException {
            return changed(
                    Method.REMOVE_POOL,
                    RemovePoolRequest.newBuilder().setName(name).build(),
                    "is removed");
        }
    }
}
