package io.cairn.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.ConfigException;
import io.cairn.common.file.InUseException;
import io.cairn.common.release.Release;
import io.cairn.dataserver.disk.FatalHandler;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.BindException;
import java.net.ConnectException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class MainTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(boolean debug, Callable<ExitCode> extra, String... args) {
        CommandLine line = Main.commandLine(debug, Arrays.asList(args).contains("--json"));
        line.addSubcommand("extra", new Extra(extra));
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line.execute(args);
    }

    private int run(String... args) {
        return run(false, () -> ExitCode.SUCCESS, args);
    }

    private int failing(Exception e) {
        return run(
                false,
                () -> {
                    throw e;
                },
                "extra");
    }

    @CommandLine.Command(name = "extra")
    private record Extra(Callable<ExitCode> body) implements Callable<ExitCode> {
        @Override
        public ExitCode call() throws Exception {
            return body.call();
        }
    }

    @Test
    void exitCodesKeepTheirNumbers() {
        assertThat(Arrays.stream(ExitCode.values()).map(c -> c.number() + " " + c.name()))
                .containsExactly(
                        "0 SUCCESS",
                        "1 FAILURE",
                        "2 USAGE",
                        "3 CONFIGURATION",
                        "4 UNREACHABLE",
                        "5 BUSY",
                        "6 DEGRADED",
                        "74 DISK");
        assertThat(ExitCode.DISK.number()).isEqualTo(FatalHandler.EXIT_STATUS);
    }

    @Test
    void versionPrintsTextOrJson() {
        assertThat(run("version")).isZero();
        assertThat(out.toString()).startsWith("cairn ").contains(", Java 25");
        out.getBuffer().setLength(0);
        assertThat(run("version", "--json")).isZero();
        JsonNode json = JsonMapper.shared().readTree(out.toString());
        assertThat(json.get("version").stringValue())
                .isEqualTo(Release.CURRENT)
                .doesNotContain("$");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void helpNamesEveryCommandAndEveryExitCode() {
        assertThat(run("--help")).isZero();
        assertThat(out.toString()).contains("version");
        for (ExitCode code : ExitCode.values()) {
            assertThat(out.toString()).containsPattern(code.number() + " +" + code.meaning());
        }
        assertThat(run("version", "--help")).isZero();
        assertThat(out.toString()).contains("--json");
    }

    @Test
    void everyCommandHasJsonAndDebug() {
        assertThat(withoutCommonOptions(Main.commandLine(false, false))).isEmpty();
    }

    private static List<String> withoutCommonOptions(CommandLine line) {
        List<String> without = new ArrayList<>();
        for (CommandLine command : line.getSubcommands().values()) {
            var options = command.getCommandSpec().optionsMap();
            boolean hidden = command.getCommandSpec().usageMessage().hidden();
            boolean runs =
                    command.getSubcommands().isEmpty()
                            && !hidden
                            && !command.getCommandName().equals("help");
            if (runs && !(options.containsKey("--json") && options.containsKey("--debug"))) {
                without.add(command.getCommandSpec().qualifiedName());
            }
            without.addAll(withoutCommonOptions(command));
        }
        return without;
    }

    /**
     * Where its servers were named, there is nothing to start here: it would be a second cluster.
     */
    @Test
    void aClusterElsewhereIsNotToBeStartedHere() {
        assertThat(run("status", "--mds", "127.0.0.1:1")).isEqualTo(4);
        assertThat(err.toString())
                .contains("no MDS leader answers (127.0.0.1:1: ")
                .doesNotContain("cairn up")
                .contains("see 'No leader' in docs/troubleshooting.md");
    }

    @Test
    void badCommandLinesAreOneLineAndTwo() {
        assertThat(run()).isEqualTo(2);
        assertThat(run("session")).isEqualTo(2);
        assertThat(run("config")).isEqualTo(2);
        assertThat(run("version", "--no-such-option")).isEqualTo(2);
        assertThat(run("no-such-command")).isEqualTo(2);
        assertThat(err.toString().lines())
                .hasSize(5)
                .allMatch(l -> l.startsWith("cairn: ") && l.endsWith("--help"));
    }

    @Test
    void whatACommandReturnsIsTheExitCode() {
        assertThat(run(false, () -> ExitCode.BUSY, "extra")).isEqualTo(5);
    }

    @Test
    void everyFailureIsOneLineAndItsExitCode() {
        assertThat(failing(new CommandException(ExitCode.BUSY, "in use"))).isEqualTo(5);
        assertThat(failing(new ConfigException("f", 3, "k", "bad"))).isEqualTo(3);
        assertThat(failing(new ConnectException("connection refused: localhost:1"))).isEqualTo(4);
        assertThat(failing(new CompletionException(new TimeoutException("no answer"))))
                .isEqualTo(4);
        assertThat(failing(new BindException("Address already in use"))).isEqualTo(5);
        assertThat(failing(new BindException("Permission denied"))).isEqualTo(3);
        assertThat(failing(new IOException("nobody else, please", new InUseException("it is"))))
                .isEqualTo(5);
        assertThat(failing(new AccessDeniedException("/root"))).isEqualTo(3);
        assertThat(failing(new IOException("two\nlines"))).isEqualTo(1);
        assertThat(failing(new IllegalStateException())).isEqualTo(1);
        assertThat(err.toString().lines())
                .containsExactly(
                        "cairn: in use",
                        "cairn: f:3: k: bad",
                        "cairn: connection refused: localhost:1",
                        "cairn: no answer",
                        "cairn: Address already in use",
                        "cairn: Permission denied",
                        "cairn: nobody else, please",
                        "cairn: /root: permission denied",
                        "cairn: two; lines",
                        "cairn: IllegalStateException");
    }

    @Test
    void errorsAreJsonWhereJsonIsAskedFor() {
        assertThat(run("status", "--json", "--mds", "127.0.0.1:1")).isEqualTo(4);
        JsonNode failed = JsonMapper.shared().readTree(err.toString());
        assertThat(failed.get("error").stringValue()).contains("127.0.0.1:1");
        assertThat(failed.get("exit_code").intValue()).isEqualTo(4);
        assertThat(failed.get("meaning").stringValue()).isEqualTo(ExitCode.UNREACHABLE.meaning());

        err.getBuffer().setLength(0);
        assertThat(run("status", "--json", "--no-such-option")).isEqualTo(2);
        assertThat(JsonMapper.shared().readTree(err.toString()).get("error").stringValue())
                .contains("--no-such-option");
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void aConfigurationIsShownAsItCounts(@TempDir Path directory) throws IOException {
        Path file =
                Files.writeString(
                        directory.resolve("mount.toml"), "client.mds = [\"mds1:7000\"]\n");
        assertThat(run("config", "show", "mount", file.toString())).isZero();
        assertThat(out.toString().lines())
                .contains(
                        "client.mds = [\"mds1:7000\"]",
                        "client.path = \"/\"  # default",
                        "# metrics_address is not set");
        out.getBuffer().setLength(0);
        assertThat(run("config", "show", "mount", file.toString(), "--json")).isZero();
        JsonNode json = JsonMapper.shared().readTree(out.toString());
        assertThat(json.at("/client/mds/0").stringValue()).isEqualTo("mds1:7000");
        assertThat(json.at("/client/path").stringValue()).isEqualTo("/");

        Files.writeString(file, "client.no_such_key = 1\n");
        assertThat(run("config", "show", "mount", file.toString())).isEqualTo(3);
        assertThat(err.toString()).contains(file + ":1: client.no_such_key: unknown key");
        assertThat(run("config", "show", "printer", file.toString())).isEqualTo(2);
        assertThat(run("config")).isEqualTo(2);
    }

    @Test
    void theCompletionScriptKnowsEveryCommand() {
        assertThat(run("completion")).isZero();
        assertThat(out.toString())
                .contains(
                        Main.commandLine(false, false).getSubcommands().values().stream()
                                .map(CommandLine::getCommandSpec)
                                .filter(command -> !command.usageMessage().hidden())
                                .map(CommandLine.Model.CommandSpec::name)
                                .toArray(String[]::new));
        String script = out.toString().strip();
        out.getBuffer().setLength(0);
        assertThat(run("completion", "--json")).isZero();
        assertThat(JsonMapper.shared().readTree(out.toString()).get("bash").stringValue().strip())
                .isEqualTo(script);
    }

    @Test
    void aWatchNeedsASecond() {
        assertThat(run("status", "--watch=0", "--mds", "127.0.0.1:1")).isEqualTo(2);
        assertThat(err.toString()).contains("--watch");
    }

    @Test
    void debugPrintsTheStackToo() {
        run(
                true,
                () -> {
                    throw new IOException("why");
                },
                "extra");
        assertThat(err.toString()).startsWith("cairn: why").contains("at io.cairn.cli.MainTest");
    }
}
