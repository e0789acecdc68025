package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.output.Output;
import io.cairn.common.config.Config;
import io.cairn.common.metrics.Meters;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.disk.DiskConfig;
import io.cairn.dataserver.disk.DiskOpenException;
import io.cairn.dataserver.disk.IdentityDirectory;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.store.DiskCheck;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code cairn disk check}: the disks of this machine, whose data server is stopped. */
@Command(
        name = "check",
        description = {
            "Read the whole chunk index of each disk of a data server, which must be stopped, and compare",
            "it with the summary that a start believes: blocks in use, truncated inodes. Exit code 1: some",
            "of it differs."
        })
final class DiskCheckCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Option(
            names = "--config",
            paramLabel = "FILE",
            required = true,
            description = "Configuration of the data server; see config/dataserver.toml.")
    private @Nullable Path file;

    @Option(
            names = "--forget-summary",
            description = {
                "Remove the summary of a disk where something differs: the next start reads its whole index,",
                "and makes the summary anew."
            })
    private boolean forget;

    @Override
    public ExitCode call() throws DiskOpenException {
        DataServerConfig config = Config.load(Objects.requireNonNull(file), DataServerConfig.class);
        Output out = new Output(Objects.requireNonNull(spec).commandLine().getOut());
        if (!Files.isDirectory(config.stateDir())) {
            throw new CommandException(
                    ExitCode.CONFIGURATION,
                    config.stateDir() + " does not exist: no data server has run with this file");
        }
        List<Map<String, Object>> all = new ArrayList<>();
        boolean same = true;
        try (IdentityDirectory held = IdentityDirectory.open(config.stateDir());
                RocksMemory memory = new RocksMemory(config.rocksdbMemory())) {
            IndexDatabases databases =
                    new IndexDatabases(config.rocksdbOfEachDisk(), memory, Meters.unpublished());
            for (DataServerConfig.DiskTable table : config.disk()) {
                DiskCheck.Report report = DiskCheck.check(DiskConfig.of(table), databases, forget);
                same &= report.differences().isEmpty();
                all.add(
                        Map.of(
                                "data", table.data().toString(),
                                "uuid", report.disk().toString(),
                                "placement_groups", report.pgs(),
                                "differences", report.differences()));
                if (!options.json()) {
                    print(out, table.data(), report);
                }
            }
        }
        if (options.json()) {
            out.json(all);
        }
        return same ? ExitCode.SUCCESS : ExitCode.FAILURE;
    }

    private void print(Output out, Path data, DiskCheck.Report report) {
        String disk =
                "%s: disk %s, %d placement groups".formatted(data, report.disk(), report.pgs());
        if (report.differences().isEmpty()) {
            out.line(disk + ", index and summary agree");
            return;
        }
        out.line(disk + ":");
        report.differences().forEach(d -> out.line("  " + d));
        out.line(
                forget
                        ? "  the summary is removed: the next start reads the whole index"
                        : "  'cairn disk check --forget-summary' makes the next start read the whole"
                                + " index");
    }
}
