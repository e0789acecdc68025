package io.cairn.common.config;

import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.toml.TomlMapper;

/**
 * Writes a configuration record as it counts, defaults included: a TOML file that reads as the same
 * record. Keys of tables are dotted, so that a line can be searched for by the name of the manual.
 * Stateless.
 */
public final class EffectiveConfig {
    private EffectiveConfig() {}

    /** One key per line; values that are the default of their key are marked as such. */
    public static String toml(Record config) {
        StringBuilder out = new StringBuilder();
        StringBuilder tables = new StringBuilder();
        table(config, "", "", out, tables);
        return out.append(tables).toString();
    }

    /** As {@link #toml}, for programs: tables are maps; keys that are not set are left out. */
    public static JsonNode json(Record config) {
        return new TomlMapper().readTree(toml(config));
    }

    /**
     * @param prefix of the keys, relative to the array of tables they stand in
     * @param path of that array, with a dot at its end, or empty
     * @param out for keys
     * @param tables for arrays of tables, which must come behind all keys
     */
    private static void table(
            Record config, String prefix, String path, StringBuilder out, StringBuilder tables) {
        TableSchema schema = TableSchema.of(config.getClass());
        RecordComponent[] components = config.getClass().getRecordComponents();
        for (int i = 0; i < components.length; i++) {
            TableSchema.KeySchema key = schema.keys().get(i);
            Object value = value(config, components[i]);
            String name = prefix + key.name();
            if (value == null) {
                out.append("# " + name + " is not set\n");
                continue;
            }
            switch (key.shape()) {
                case TableSchema.Shape.Scalar s -> {
                    String text = s.type().toToml(spelled(value));
                    boolean isDefault =
                            !key.key().defaultValue().isEmpty()
                                    && value.equals(s.type().defaultOf(key.key()));
                    out.append(name + " = " + text + (isDefault ? "  # default" : "") + "\n");
                }
                case TableSchema.Shape.Values v -> {
                    List<String> texts =
                            ((List<?>) value)
                                    .stream().map(e -> v.type().toToml(spelled(e))).toList();
                    out.append(name + " = [" + String.join(", ", texts) + "]\n");
                }
                case TableSchema.Shape.Table t ->
                        table((Record) value, name + ".", path, out, tables);
                case TableSchema.Shape.Tables t -> {
                    for (Object element : (List<?>) value) {
                        tables.append("\n[[" + path + name + "]]\n");
                        StringBuilder inner = new StringBuilder();
                        table((Record) element, "", path + name + ".", tables, inner);
                        tables.append(inner);
                    }
                }
                case TableSchema.Shape.FreeTable f ->
                        ((Map<?, ?>) value)
                                .forEach((k, v) ->
                                        out.append(name + "." + k + " = " + quoted(v) + "\n"));
            }
        }
    }

    private static @Nullable Object value(Record config, RecordComponent component) {
        try {
            component.getAccessor().setAccessible(true);
            Object value = component.getAccessor().invoke(config);
            return value instanceof Optional<?> o ? o.orElse(null) : value;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("no value of " + component, e);
        }
    }

    private static String spelled(Object value) {
        return switch (value) {
            case Duration d -> Durations.format(d);
            case Enum<?> e -> ScalarType.spelled(e);
            default -> value.toString();
        };
    }

    private static String quoted(@Nullable Object text) {
        return "\"" + String.valueOf(text).replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
