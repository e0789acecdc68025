package io.cairn.cli.stats;

import io.cairn.cli.command.ExitCode;
import io.cairn.cli.command.GlobalOptions;
import io.cairn.cli.command.Pause;
import io.cairn.cli.local.ClusterDirectory;
import io.cairn.cli.output.Output;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** As iostat: what a mount or server does, interval by interval. */
@Command(
        name = "stats",
        description = {
            "Show rates and latencies of a mount or server, again and again until Ctrl-C.",
            "The average is of the interval, p99 of the last 30 to 60 seconds."
        })
public final class StatsCommand implements Callable<ExitCode> {
    @Spec private @Nullable CommandSpec spec;

    @Parameters(
            arity = "0..3",
            paramLabel = "[TARGET] [SECONDS [COUNT]]",
            hideParamSyntax = true,
            description = {
                "TARGET: a part of the local cluster (mds-1, data-2, mount), its mount point, or the",
                "metrics_address (HOST:PORT) of any part; default: mount.",
                "SECONDS: length of an interval (default: 1). COUNT: of intervals (default: no end)."
            })
    private List<String> words = List.of();

    @Option(names = "--dir", paramLabel = "DIR", description = "State of a local cluster.")
    private @Nullable Path directory;

    @Option(
            names = "--connections",
            description = "Also requests and bytes of each kind of connection.")
    private boolean connections;

    @Mixin private final GlobalOptions options = new GlobalOptions();

    @Override
    public ExitCode call() throws IOException, InterruptedException {
        List<String> left = new ArrayList<>(words);
        boolean named = !left.isEmpty() && !isNumber(left.getFirst());
        String word = named ? left.removeFirst() : "mount";
        if (left.size() > 2) {
            throw usage("'" + left.getLast() + "': one TARGET, SECONDS and COUNT at most");
        }
        long seconds = left.isEmpty() ? 1 : number("SECONDS", left.getFirst());
        long count = left.size() < 2 ? Long.MAX_VALUE : number("COUNT", left.get(1));
        StatsTarget target = StatsTarget.of(word, ClusterDirectory.chosen(directory));
        try (MetricsReader reader = new MetricsReader(target.address())) {
            show(reader, target, seconds, count);
        }
        return ExitCode.SUCCESS;
    }

    private void show(MetricsReader reader, StatsTarget target, long seconds, long count)
            throws InterruptedException {
        PrintWriter out = Objects.requireNonNull(spec).commandLine().getOut();
        Reading before = reader.read();
        for (long i = 0; i < count && !out.checkError(); i++) {
            Pause.of(Duration.ofSeconds(seconds));
            Reading after = reader.read();
            // The one part of a process is it, whatever it is called there.
            boolean all = target.part().isEmpty() || after.parts().size() == 1;
            Rates rates =
                    Rates.between(before, after, p -> all || p.equals(target.part().orElseThrow()));
            StatsReport report = new StatsReport(rates, connections);
            if (options.json()) {
                new Output(out).json(report.asMap());
            } else {
                report.print(
                        out,
                        LocalTime.now(ZoneId.systemDefault())
                                .truncatedTo(ChronoUnit.SECONDS)
                                .format(DateTimeFormatter.ISO_LOCAL_TIME));
            }
            before = after;
        }
    }

    private static boolean isNumber(String word) {
        return word.matches("[-+]?[0-9.]+");
    }

    private long number(String what, String word) {
        if (!word.matches("[0-9]{1,9}") || Long.parseLong(word) < 1) {
            throw usage("%s '%s': a whole number from 1 on".formatted(what, word));
        }
        return Long.parseLong(word);
    }

    private ParameterException usage(String problem) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), problem);
    }
}
