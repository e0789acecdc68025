package io.cairn.common.rocks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.Config;
import io.cairn.common.config.ConfigException;
import io.cairn.common.config.ConfigRecordContract;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RocksConfigTest extends ConfigRecordContract {
    @Override
    protected Class<? extends Record> type() {
        return RocksConfig.class;
    }

    private static Map<String, String> resolve(String toml) {
        return RocksOptions.resolve(Config.parse("r.toml", toml, RocksConfig.class)).requested();
    }

    @Test
    void tunedHasTheValuesOfTheStudyAndCompressedIsTheDefault() {
        assertThat(resolve("preset = 'tuned'"))
                .containsEntry("compression", "kNoCompression")
                .containsEntry("max_write_buffer_number", "128")
                .containsEntry("min_write_buffer_number_to_merge", "16")
                .containsEntry("write_buffer_size", "8388608")
                .containsEntry("max_bytes_for_level_base", "1073741824")
                .containsEntry("max_bytes_for_level_multiplier", "8");
        assertThat(resolve("")).isEqualTo(resolve("preset = 'tuned-lz4'"));
        assertThat(resolve(""))
                .containsEntry("compression", "kLZ4Compression")
                .containsEntry("write_buffer_size", "8388608");
    }

    @Test
    void keysOverrideThePresetAndFreeOptionsOverrideBoth() {
        assertThat(
                        resolve(
                                "preset = 'bluestore'\nwrite_buffer_size = '1MiB'\n[options]\nmax_write_buffer_number = 9"))
                .containsEntry("write_buffer_size", "1048576")
                .containsEntry("max_write_buffer_number", "9")
                .containsEntry("max_background_compactions", "2");
    }

    @Test
    void levelSizingReplacesTheBase() {
        String paths = "fast_path = '/f'\nslow_path = '/s'\nfast_size = '80GiB'\n";
        assertThat(resolve(paths + "level_sizing = 'auto'\npreset = 'bluestore'"))
                .containsEntry("max_bytes_for_level_base", Long.toString(719L << 20));
        assertThat(resolve(paths + "level_sizing = 'auto-compact-safe'\npreset = 'bluestore'"))
                .containsEntry("max_bytes_for_level_base", Long.toString(376L << 20));
    }

    @Test
    void impossibleCombinationsAreRefused() {
        assertRefused(
                "fast_path = '/f'", "r.toml:1: fast_path: must be given together with slow_path");
        assertRefused("level_sizing = 'auto'", "r.toml:1: level_sizing: \"auto\"");
        assertRefused(
                "\n[options]\nno_such_thing = 1",
                "r.toml:3: options.no_such_thing: RocksDB knows no such option");
        assertRefused(
                "[options]\nmax_open_files = 'many'",
                "r.toml:2: options.max_open_files: RocksDB knows no such");
        assertRefused(
                "[options]\ncreate_if_missing = false",
                "r.toml:2: options.create_if_missing: is set by Cairn");
    }

    private static void assertRefused(String toml, String message) {
        assertThatThrownBy(() -> resolve(toml))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith(message);
    }
}
