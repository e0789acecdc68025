package io.cairn.cli.stats;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.HostPort;
import io.cairn.common.metrics.PrometheusEndpoint;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class StatsCommandTest {
    @TempDir private Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private ExitCode run(String... arguments) {
        CommandLine line = new CommandLine(new StatsCommand());
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        line.setParameterExceptionHandler((e, _) -> failed(ExitCode.USAGE, e));
        line.setExecutionExceptionHandler(
                (e, _, _) -> failed(((CommandException) e).exitCode(), e));
        int code = line.execute(arguments);
        return code == 0 ? ExitCode.SUCCESS : ExitCode.values()[code];
    }

    private int failed(ExitCode code, Exception e) {
        err.append(e.getMessage());
        return code.ordinal();
    }

    @Test
    void eachIntervalIsADocument() throws Exception {
        AtomicInteger reads = new AtomicInteger();
        try (PrometheusEndpoint endpoint =
                new PrometheusEndpoint(
                        HostPort.parse("127.0.0.1:0"),
                        () ->
                                "cairn_client_read_bytes_total{part=\"mount\"} "
                                        + 1_000_000 * reads.incrementAndGet()
                                        + "\n")) {
            assertThat(run(endpoint.address().toString(), "1", "2", "--json"))
                    .as(err.toString())
                    .isEqualTo(ExitCode.SUCCESS);
        }
        assertThat(reads).hasValue(3);
        try (var documents =
                JsonMapper.shared()
                        .readerFor(JsonNode.class)
                        .<JsonNode>readValues(out.toString())) {
            assertThat(documents.readAll())
                    .hasSize(2)
                    .allMatch(d -> d.path("bytes").get(0).path("bytes_per_second").asDouble() > 0);
        }
    }

    @Test
    void badInputIsNamed() {
        refused(ExitCode.USAGE, "SECONDS '0'", "mount", "0");
        refused(ExitCode.USAGE, "SECONDS '-1'", "-1");
        refused(ExitCode.USAGE, "SECONDS '0.5'", "mount", "0.5");
        refused(ExitCode.USAGE, "SECONDS 'often'", "mount", "often");
        refused(ExitCode.USAGE, "COUNT '0'", "1", "0");
        refused(ExitCode.USAGE, "metrics address is HOST:PORT", "host:");
        refused(
                ExitCode.UNREACHABLE,
                "there is no cluster",
                "data-1",
                "--dir",
                directory + "/none");
        refused(ExitCode.UNREACHABLE, "127.0.0.1:1", "127.0.0.1:1");
    }

    private void refused(ExitCode code, String problem, String... arguments) {
        err.getBuffer().setLength(0);
        assertThat(run(arguments)).as(err.toString()).isEqualTo(code);
        assertThat(err.toString()).contains(problem);
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void whoIsNoPartOfCairnIsNotBelieved() throws Exception {
        try (PrometheusEndpoint other =
                new PrometheusEndpoint(HostPort.parse("127.0.0.1:0"), () -> "up 1\n")) {
            refused(ExitCode.UNREACHABLE, "no part of Cairn", other.address().toString());
        }
    }
}
