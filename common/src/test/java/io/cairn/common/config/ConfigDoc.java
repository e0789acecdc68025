package io.cairn.common.config;

import java.util.ArrayList;
import java.util.List;

/**
 * Writes the manual and the example files from configuration records, so that neither can differ
 * from the code.
 */
public final class ConfigDoc {
    private static final int WIDTH = 100;

    private ConfigDoc() {}

    /** One line of an example file that sets a key. */
    record Setting(String path, String name, String value, boolean required) {}

    /** The manual's section for one file: a table of all keys. */
    public static String markdown(String title, Class<? extends Record> type) {
        StringBuilder out =
                new StringBuilder(
                        "## "
                                + title
                                + "\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n");
        rows(TableSchema.of(type), "", out);
        return out.toString();
    }

    /** An example file: every key with its documentation; those with defaults are commented out. */
    public static String exampleToml(String title, Class<? extends Record> type) {
        StringBuilder out = new StringBuilder("# " + title + "\n");
        for (Object entry : entries(TableSchema.of(type), "")) {
            switch (entry) {
                case Setting s ->
                        out.append(s.required ? "" : "#").append(s.name + " = " + s.value + "\n");
                default -> out.append(entry).append('\n');
            }
        }
        return out.toString();
    }

    /** The example with every key set: settings, and lines of text between them. */
    static List<Object> entries(TableSchema schema, String path) {
        List<Object> out = new ArrayList<>();
        for (TableSchema.KeySchema key : schema.keys()) {
            if (!isTable(key)) {
                out.add("");
                comment(key.key().value(), out);
                out.add(setting(key, path));
            }
        }
        for (TableSchema.KeySchema key : schema.keys()) {
            String sub = path.isEmpty() ? key.name() : path + "." + key.name();
            switch (key.shape()) {
                case TableSchema.Shape.Table table ->
                        nested(key, "[" + sub + "]", table.schema(), sub, out);
                case TableSchema.Shape.Tables tables ->
                        nested(key, "[[" + sub + "]]", tables.schema(), sub + "[0]", out);
                case TableSchema.Shape.FreeTable free -> {
                    out.add("");
                    comment(key.key().value(), out);
                    out.add("[" + sub + "]");
                }
                case TableSchema.Shape.Scalar scalar -> {}
                case TableSchema.Shape.Values values -> {}
            }
        }
        return out;
    }

    private static void nested(
            TableSchema.KeySchema key,
            String header,
            TableSchema schema,
            String path,
            List<Object> out) {
        out.add("");
        comment(key.key().value(), out);
        out.add(header);
        out.addAll(entries(schema, path));
    }

    private static Setting setting(TableSchema.KeySchema key, String path) {
        String text =
                key.key().defaultValue().isEmpty() ? key.key().example() : key.key().defaultValue();
        String value =
                switch (key.shape()) {
                    case TableSchema.Shape.Scalar scalar -> scalar.type().toToml(text);
                    case TableSchema.Shape.Values values ->
                            text.isEmpty() ? "[]" : "[" + values.type().toToml(text) + "]";
                    case TableSchema.Shape.Table t -> throw new IllegalStateException("table");
                    case TableSchema.Shape.Tables t -> throw new IllegalStateException("tables");
                    case TableSchema.Shape.FreeTable t -> throw new IllegalStateException("table");
                };
        String full = path.isEmpty() ? key.name() : path + "." + key.name();
        return new Setting(full, key.name(), value, key.required());
    }

    private static void rows(TableSchema schema, String path, StringBuilder out) {
        for (TableSchema.KeySchema key : schema.keys()) {
            String full = path.isEmpty() ? key.name() : path + "." + key.name();
            switch (key.shape()) {
                case TableSchema.Shape.Scalar s ->
                        row(full, defaultText(key), s.type().allowed(key.key()), key, out);
                case TableSchema.Shape.Values v ->
                        row(full, "`[]`", "a list, each " + v.type().allowed(key.key()), key, out);
                case TableSchema.Shape.FreeTable f ->
                        row(full, "empty", "a table of free keys", key, out);
                case TableSchema.Shape.Table t -> {
                    row("[" + full + "]", "", "a table", key, out);
                    rows(t.schema(), full, out);
                }
                case TableSchema.Shape.Tables t -> {
                    row("[[" + full + "]]", "none", "tables", key, out);
                    rows(t.schema(), full + "[]", out);
                }
            }
        }
    }

    private static String defaultText(TableSchema.KeySchema key) {
        if (key.required()) {
            return "**required**";
        }
        return key.key().defaultValue().isEmpty() ? "none" : "`" + key.key().defaultValue() + "`";
    }

    private static void row(
            String name,
            String defaultText,
            String allowed,
            TableSchema.KeySchema key,
            StringBuilder out) {
        out.append(
                "| `"
                        + name
                        + "` | "
                        + defaultText
                        + " | "
                        + escape(allowed)
                        + " | "
                        + escape(key.key().value())
                        + " |\n");
    }

    private static String escape(String text) {
        return text.replace("|", "\\|");
    }

    private static boolean isTable(TableSchema.KeySchema key) {
        return !(key.shape() instanceof TableSchema.Shape.Scalar)
                && !(key.shape() instanceof TableSchema.Shape.Values);
    }

    /** Breaks a sentence into comment lines. */
    private static void comment(String text, List<Object> out) {
        StringBuilder line = new StringBuilder("#");
        for (String word : text.split(" ", -1)) {
            if (line.length() + 1 + word.length() > WIDTH) {
                out.add(line.toString());
                line = new StringBuilder("#");
            }
            line.append(' ').append(word);
        }
        out.add(line.toString());
    }
}
