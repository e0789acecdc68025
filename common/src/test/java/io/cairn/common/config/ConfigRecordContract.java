package io.cairn.common.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertAll;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * What every configuration record must satisfy; extend it once per record. Derives from the record
 * itself a file that sets every key, and then for every key the values that must be refused with
 * file, line and key.
 */
public abstract class ConfigRecordContract {
    private static final String FILE = "test.toml";

    /** The record under test. */
    protected abstract Class<? extends Record> type();

    @Test
    void theExampleIsAccepted() {
        assertThat(Config.parse(FILE, ConfigDoc.exampleToml("Example", type()), type()))
                .isNotNull();
    }

    @Test
    void theExampleWithEveryKeySetIsAccepted() {
        assertThat(Config.parse(FILE, render(null, ""), type())).isNotNull();
    }

    @Test
    void whatIsShownAsEffectiveReadsAsTheSame() {
        for (String text : List.of(ConfigDoc.exampleToml("Example", type()), render(null, ""))) {
            Record config = Config.parse(FILE, text, type());
            assertThat(Config.parse(FILE, EffectiveConfig.toml(config), type())).isEqualTo(config);
        }
    }

    @Test
    void unknownKeysAreRefused() {
        assertThatThrownBy(() -> Config.parse(FILE, "no_such_key = 1\n" + render(null, ""), type()))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith(FILE + ":1: no_such_key: unknown key");
    }

    @Test
    void brokenSyntaxIsRefusedWithItsLine() {
        assertThatThrownBy(() -> Config.parse(FILE, "# fine\nwhat is this\n", type()))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith(FILE + ":2: not valid TOML");
    }

    /** One test for the hundreds of cases of a record; each that fails is named. */
    @Test
    void everyKeyRefusesEveryBadValue() {
        List<Executable> cases = new ArrayList<>();
        badValues(TableSchema.of(type()), "", cases);
        assertThat(cases).isNotEmpty();
        assertAll(cases);
    }

    private void badValues(TableSchema schema, String path, List<Executable> cases) {
        for (TableSchema.KeySchema key : schema.keys()) {
            String full = path.isEmpty() ? key.name() : path + "." + key.name();
            switch (key.shape()) {
                case TableSchema.Shape.Scalar s -> {
                    for (String bad : badValues(s.type(), key.key())) {
                        cases.add(refused(full, full, bad));
                    }
                    if (key.required()) {
                        cases.add(missing(full));
                    }
                }
                case TableSchema.Shape.Values v -> {
                    cases.add(refused(full, full, "17"));
                    for (String bad : badValues(v.type(), key.key())) {
                        cases.add(refused(full, full + "[0]", "[" + bad + "]"));
                    }
                }
                case TableSchema.Shape.Table t -> badValues(t.schema(), full, cases);
                case TableSchema.Shape.Tables t -> badValues(t.schema(), full + "[0]", cases);
                case TableSchema.Shape.FreeTable f -> {}
            }
        }
    }

    private static List<String> badValues(ScalarType type, Key key) {
        List<String> bad = new ArrayList<>(type.nonsense());
        if (type.javaType() == Boolean.class || type.javaType() == String.class) {
            return bad;
        }
        if (!key.min().isEmpty()) {
            below(type, key.min()).ifPresent(bad::add);
        }
        if (!key.max().isEmpty()) {
            above(type, key.max()).ifPresent(bad::add);
        }
        return bad;
    }

    private static java.util.Optional<String> below(ScalarType type, String min) {
        return switch (type.fromText().apply(min)) {
            case Integer n -> java.util.Optional.of(Long.toString(n - 1L));
            case Long n -> java.util.Optional.of(Long.toString(n - 1));
            case Double n -> java.util.Optional.of(Double.toString(n - 1));
            case ByteSize n when n.bytes() > 0 ->
                    java.util.Optional.of("\"" + (n.bytes() - 1) + "B\"");
            case java.time.Duration n when !n.isZero() ->
                    java.util.Optional.of("\"" + (n.toNanos() / 1000 - 1) + "us\"");
            default -> java.util.Optional.empty();
        };
    }

    private static java.util.Optional<String> above(ScalarType type, String max) {
        return switch (type.fromText().apply(max)) {
            case Integer n -> java.util.Optional.of(Long.toString(n + 1L));
            case Long n -> java.util.Optional.of(Long.toString(n + 1));
            case Double n -> java.util.Optional.of(Double.toString(n + 1));
            case ByteSize n -> java.util.Optional.of("\"" + (n.bytes() + 1) + "B\"");
            case java.time.Duration n ->
                    java.util.Optional.of("\"" + (n.toNanos() / 1000 + 1) + "us\"");
            default -> java.util.Optional.empty();
        };
    }

    private Executable refused(String setting, String blamed, String badValue) {
        String text = render(setting, badValue);
        int line = lineOf(setting);
        return () ->
                assertThatThrownBy(() -> Config.parse(FILE, text, type()))
                        .as(setting + " = " + badValue)
                        .isInstanceOf(ConfigException.class)
                        .hasMessageStartingWith(FILE + ":" + line + ": " + blamed + ": ")
                        .message()
                        .doesNotContain("\n");
    }

    private Executable missing(String setting) {
        String text = render(setting, "");
        return () ->
                assertThatThrownBy(() -> Config.parse(FILE, text, type()))
                        .as(setting + " missing")
                        .isInstanceOf(ConfigException.class)
                        .hasMessageStartingWith(FILE + ":")
                        .hasMessageContaining(": " + setting + ": missing, must be ");
    }

    /** The file with every key set, one of them to a bad value (or left out when that is empty). */
    private String render(@org.jspecify.annotations.Nullable String replaced, String badValue) {
        StringBuilder out = new StringBuilder();
        for (Object entry : ConfigDoc.entries(TableSchema.of(type()), "")) {
            if (!(entry instanceof ConfigDoc.Setting s)) {
                out.append(entry);
            } else if (!s.path().equals(replaced)) {
                out.append(s.value().equals("\"\"") ? "#" : "")
                        .append(s.name() + " = " + s.value());
            } else if (!badValue.isEmpty()) {
                out.append(s.name() + " = " + badValue);
            }
            out.append('\n');
        }
        return out.toString();
    }

    private int lineOf(String setting) {
        int line = 0;
        for (Object entry : ConfigDoc.entries(TableSchema.of(type()), "")) {
            line++;
            if (entry instanceof ConfigDoc.Setting s && s.path().equals(setting)) {
                return line;
            }
        }
        throw new AssertionError("no setting " + setting);
    }
}
