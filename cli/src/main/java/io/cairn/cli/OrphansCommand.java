package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.CommandGroup;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.OrphanTable;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.ChangeOrphansReply;
import io.cairn.common.proto.ChangeOrphansRequest;
import io.cairn.common.proto.ListOrphansReply;
import io.cairn.common.proto.ListOrphansRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Orphan;
import io.cairn.common.proto.OrphanId;
import io.cairn.common.proto.Pool;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code cairn orphans}. */
@Command(
        name = "orphans",
        description = {
            "Data that belongs to no file: what scrubs have found on data servers of inodes that the metadata",
            "service does not have, or has in another pool. It takes space and does no harm. It is removed",
            "once it is proven: found again, orphans.age ('cairn set') after it was found first."
        },
        subcommands = {
            OrphansCommand.Ls.class,
            OrphansCommand.Remove.class,
            OrphansCommand.Keep.class,
            OrphansCommand.Unkeep.class
        })
final class OrphansCommand extends CommandGroup {
    /** As many as the leader takes at once. */
    private static final int BATCH = 1024;

    /** What all of them share. */
    abstract static class OrphanCommand extends ClusterCommand {
        /** Pools by their ids. */
        static Map<Integer, String> pools(AdminClient admin) {
            Map<Integer, String> pools = new LinkedHashMap<>();
            for (Pool pool : admin.status().getMap().getPoolsList()) {
                pools.put(pool.getId(), pool.getName());
            }
            return pools;
        }

        /** All of them, page by page; the last page. */
        static ListOrphansReply list(AdminClient admin, List<Orphan> into) {
            ListOrphansRequest.Builder request = ListOrphansRequest.newBuilder();
            while (true) {
                ListOrphansReply page =
                        admin.ask(Method.LIST_ORPHANS, request.build(), ListOrphansReply.parser());
                into.addAll(page.getOrphansList());
                if (!page.getMore() || page.getOrphansCount() == 0) {
                    return page;
                }
                Orphan last = page.getOrphans(page.getOrphansCount() - 1);
                request.setAfterPool(last.getPool()).setAfterInode(last.getInode());
            }
        }

        static CommandException failure(FsException e) {
            return switch (e.errno()) {
                case EOPNOTSUPP ->
                        new CommandException(
                                ExitCode.FAILURE,
                                "the leader of the metadata service is of a release without this"
                                        + " command: upgrade it first");
                default -> new CommandException(ExitCode.FAILURE, e.detail());
            };
        }
    }

    /** {@code cairn orphans ls}. */
    @Command(
            name = "ls",
            description = {
                "List it: pool, inode, in which placement groups, bytes of one replica, since when it is known,",
                "when a scrub saw it last, and its state: suspected (found, and not proven yet), proven (can be",
                "removed), kept, removing (the reaper deletes it), never given out or no file (the metadata",
                "service may be older than the data: never removed)."
            })
    static final class Ls extends OrphanCommand {
        @Override
        public ExitCode call() throws IOException {
            try (AdminClient admin = connect()) {
                Map<Integer, String> pools = pools(admin);
                List<Orphan> orphans = new ArrayList<>();
                ListOrphansReply last = list(admin, orphans);
                if (json()) {
                    printJson(OrphanTable.asMap(orphans, last.getSummary(), pools));
                } else {
                    OrphanTable.print(orphans, last.getSummary(), pools, out());
                }
                return ExitCode.SUCCESS;
            } catch (FsException e) {
                throw failure(e);
            }
        }
    }

    /** A command on inodes that are named, or on all of a pool. */
    abstract static class InodesCommand extends OrphanCommand {
        @Parameters(
                paramLabel = "INODE",
                arity = "0..*",
                description = "As 'cairn orphans ls' shows them: 0x and hexadecimal, or decimal.")
        private List<String> inodes = List.of();

        @Option(
                names = "--pool",
                paramLabel = "NAME",
                description = "What this pool has of them; if not given: what any has.")
        private @Nullable String pool;

        final @Nullable String pool() {
            return pool;
        }

        final boolean isNamed() {
            return !inodes.isEmpty();
        }

        static int poolId(Map<Integer, String> pools, String name) {
            return pools.entrySet().stream()
                    .filter(p -> p.getValue().equals(name))
                    .findFirst()
                    .orElseThrow(() ->
                            new CommandException(
                                    ExitCode.FAILURE,
                                    "there is no pool " + name + "; nothing was changed"))
                    .getKey();
        }

        /** Those that are named, each in every pool that is meant. */
        final List<OrphanId> named(AdminClient admin) {
            Map<Integer, String> pools = pools(admin);
            Integer wanted = pool == null ? null : (Integer) poolId(pools, pool);
            List<Orphan> known = new ArrayList<>();
            list(admin, known);
            List<OrphanId> ids = new ArrayList<>();
            for (String text : inodes.stream().distinct().toList()) {
                long inode = number(text);
                List<Orphan> meant =
                        known.stream()
                                .filter(o -> o.getInode() == inode)
                                .filter(o -> wanted == null || wanted == o.getPool())
                                .toList();
                if (meant.isEmpty()) {
                    throw new CommandException(
                            ExitCode.FAILURE,
                            "no orphaned data of inode "
                                    + text
                                    + " is known"
                                    + (pool == null ? "" : " in pool " + pool)
                                    + "; nothing was changed, see: cairn orphans ls");
                }
                meant.forEach(o ->
                        ids.add(
                                OrphanId.newBuilder()
                                        .setPool(o.getPool())
                                        .setInode(inode)
                                        .build()));
            }
            return ids;
        }

        private long number(String text) {
            try {
                return text.startsWith("0x")
                        ? Long.parseUnsignedLong(text.substring(2), 16)
                        : Long.parseUnsignedLong(text);
            } catch (NumberFormatException e) {
                throw usage("'" + text + "' is no number of an inode");
            }
        }

        /**
         * @param what became of them
         */
        final ExitCode change(ChangeOrphansRequest how, String what) throws IOException {
            if (!isNamed()) {
                throw usage("name inodes, as 'cairn orphans ls' shows them");
            }
            try (AdminClient admin = connect()) {
                List<OrphanId> ids = named(admin);
                List<OrphanId> changed = new ArrayList<>();
                for (int i = 0; i < ids.size(); i += BATCH) {
                    ChangeOrphansRequest request =
                            how.toBuilder()
                                    .addAllOrphans(ids.subList(i, Math.min(ids.size(), i + BATCH)))
                                    .build();
                    changed.addAll(ask(admin, request));
                }
                return said(changed, what);
            } catch (FsException e) {
                throw failure(e);
            }
        }

        static List<OrphanId> ask(AdminClient admin, ChangeOrphansRequest request) {
            return admin.ask(Method.CHANGE_ORPHANS, request, ChangeOrphansReply.parser())
                    .getChangedList();
        }

        final ExitCode said(List<OrphanId> changed, String what) {
            if (json()) {
                Map<String, Object> json = new LinkedHashMap<>();
                json.put("changed", changed.stream().map(OrphanTable::asMap).toList());
                printJson(json);
            } else {
                out().printf("data of %,d inodes %s%n", changed.size(), what);
                out().flush();
            }
            return ExitCode.SUCCESS;
        }
    }

    /** {@code cairn orphans remove}. */
    @Command(
            name = "remove",
            description = {
                "Remove proven orphaned data: it goes into the deletion queue, as that of a deleted file",
                "does. Of what is named all or nothing; with --all whatever of the pool is proven, also",
                "where it is more than orphans.max_share."
            })
    static final class Remove extends InodesCommand {
        @Option(names = "--all", description = "All that is proven in the pool.")
        private boolean all;

        @Override
        public ExitCode call() throws IOException {
            String what = "is being removed: 'deleting' of 'cairn status' shows how far that is";
            if (!all) {
                return change(ChangeOrphansRequest.newBuilder().setRemove(true).build(), what);
            }
            String name = pool();
            if (isNamed() || name == null) {
                throw usage("--all is of a whole pool: give --pool, and no inodes");
            }
            try (AdminClient admin = connect()) {
                ChangeOrphansRequest request =
                        ChangeOrphansRequest.newBuilder()
                                .setRemove(true)
                                .setAllProven(true)
                                .setPool(poolId(pools(admin), name))
                                .build();
                List<OrphanId> changed = new ArrayList<>();
                List<OrphanId> step;
                do {
                    step = ask(admin, request);
                    changed.addAll(step);
                } while (!step.isEmpty());
                return said(changed, what);
            } catch (FsException e) {
                throw failure(e);
            }
        }
    }

    /** {@code cairn orphans keep}. */
    @Command(
            name = "keep",
            description = {
                "Never remove it, and warn of it no longer, until 'cairn orphans unkeep'."
            })
    static final class Keep extends InodesCommand {
        @Override
        public ExitCode call() throws IOException {
            return change(ChangeOrphansRequest.newBuilder().setKeep(true).build(), "is kept");
        }
    }

    /** {@code cairn orphans unkeep}. */
    @Command(name = "unkeep", description = "Treat what was kept as the rest.")
    static final class Unkeep extends InodesCommand {
        @Override
        public ExitCode call() throws IOException {
            return change(ChangeOrphansRequest.getDefaultInstance(), "is kept no longer");
        }
    }
}
