package io.cairn.common.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigTest {
    private static ExampleConfig parse(String text) {
        return Config.parse("/etc/cairn/x.toml", text, ExampleConfig.class);
    }

    @Test
    void absentKeysTakeTheirDefaults() {
        ExampleConfig config = parse("data_dir = 'data'");
        assertThat(config.dataDir()).isEqualTo(Path.of("/etc/cairn/data"));
        assertThat(config.lease()).isEqualTo(Duration.ofSeconds(10));
        assertThat(config.memory()).isEqualTo(ByteSize.ofMiB(64));
        assertThat(config.kind()).isEqualTo(ExampleConfig.Kind.NOT_SO_PLAIN);
        assertThat(config.peers()).isEmpty();
        assertThat(config.metrics()).isEmpty();
        assertThat(config.nested().depth()).isEqualTo(7);
        assertThat(config.disk()).isEmpty();
    }

    @Test
    void everyKindOfValueIsRead() {
        ExampleConfig config =
                parse(
                        """
                        data_dir = "/d"
                        workers = 8
                        fraction = 0.25
                        kind = "plain"
                        peers = ["a:1",  # first
                                 "[::1]:2"]
                        metrics = "127.0.0.1:9"
                        options = { paranoid_checks = true, max_open_files = 7, compression = "none" }
                        nested.depth = 3
                        [[disk]]
                        path = "one"
                        [[disk]]
                        path = "/two"
                        weight = 5
                        """);
        assertThat(config.peers()).containsExactly(new HostPort("a", 1), new HostPort("::1", 2));
        assertThat(config.metrics()).contains(new HostPort("127.0.0.1", 9));
        assertThat(config.options())
                .containsEntry("paranoid_checks", "true")
                .containsEntry("max_open_files", "7")
                .containsEntry("compression", "none");
        assertThat(config.nested().depth()).isEqualTo(3);
        assertThat(config.disk()).hasSize(2);
        assertThat(config.disk().get(1).weight()).isEqualTo(5);
    }

    @Test
    void impossibleCombinationsBlameTheirKey() {
        assertThatThrownBy(() -> parse("data_dir = 'd'\nrenew = '20s'"))
                .hasMessage("/etc/cairn/x.toml:2: renew: must be shorter than lease (10s)");
    }

    @Test
    void errorsInsideArraysOfTablesNameElementAndLine() {
        assertThatThrownBy(() ->
                        parse(
                                "data_dir = 'd'\n[[disk]]\npath='a'\n\n[[disk]]\npath='b'\nweight = 0"))
                .hasMessage(
                        "/etc/cairn/x.toml:7: disk[1].weight: value 0 out of range, must be a whole number, at least 1");
        assertThatThrownBy(
                        () -> parse("data_dir = 'd'\n[[disk]]\npath='a'\n\n[[disk]]\nweight = 1"))
                .hasMessage("/etc/cairn/x.toml:5: disk[1].path: missing, must be a path");
        assertThatThrownBy(() ->
                        parse("data_dir = 'd'\ndisk = [{path = 'a'},\n {path = 'b', size = 1}]"))
                .hasMessageStartingWith("/etc/cairn/x.toml:3: disk[1].size: unknown key");
    }

    @Test
    void linesAreRightAfterStringsOverSeveralLines() {
        assertThatThrownBy(() ->
                        parse("data_dir = '''\na\nb'''\nname = \"\"\"x\\\"\"\"\"\nworkers = 'no'"))
                .hasMessageStartingWith("/etc/cairn/x.toml:5: workers: bad value \"no\"");
    }

    @Test
    void aDuplicateKeyIsRefused() {
        assertThatThrownBy(() -> parse("data_dir = 'd'\ndata_dir = 'e'"))
                .hasMessageStartingWith("/etc/cairn/x.toml:2: not valid TOML");
    }

    @Test
    void filesThatCannotBeReadAreRefusedInOneLine(@TempDir Path dir) throws Exception {
        Path missing = dir.resolve("missing.toml");
        assertThatThrownBy(() -> Config.load(missing, ExampleConfig.class))
                .hasMessage(missing + ": no such file");
        assertThatThrownBy(() -> Config.load(dir, ExampleConfig.class))
                .hasMessageStartingWith(dir + ": cannot be read");
        Path latin = Files.write(dir.resolve("latin.toml"), new byte[] {'#', (byte) 0xe9});
        assertThatThrownBy(() -> Config.load(latin, ExampleConfig.class))
                .hasMessage(latin + ": not UTF-8 text");
    }

    @Test
    void sizesAndDurationsAreWrittenAsTheyAreRead() {
        for (String size :
                new String[] {"0B", "1B", "1025B", "4KiB", "719MiB", "3GiB", "8388607TiB"}) {
            assertThat(ByteSize.parse(size)).hasToString(size);
        }
        for (String duration : new String[] {"0s", "1us", "250ms", "90s", "5min", "36h", "400d"}) {
            assertThat(Durations.format(Durations.parse(duration))).isEqualTo(duration);
        }
    }
}
