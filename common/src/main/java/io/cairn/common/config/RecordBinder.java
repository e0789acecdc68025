package io.cairn.common.config;

import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * Builds configuration records from a parsed file, and says where the file is wrong. One use, one
 * thread.
 */
final class RecordBinder {
    private final String file;
    private final Path baseDirectory;
    private final TomlPositions positions;

    RecordBinder(String file, Path baseDirectory, TomlPositions positions) {
        this.file = file;
        this.baseDirectory = baseDirectory;
        this.positions = positions;
    }

    Object bind(TableSchema schema, JsonNode table, String path) {
        refuseUnknownKeys(schema, table, path);
        @Nullable Object[] arguments = new @Nullable Object[schema.keys().size()];
        for (int i = 0; i < arguments.length; i++) {
            TableSchema.KeySchema key = schema.keys().get(i);
            Object value = value(key, table.get(key.name()), join(path, key.name()));
            arguments[i] = key.optional() ? Optional.ofNullable(value) : value;
        }
        return construct(schema, arguments, path);
    }

    private void refuseUnknownKeys(TableSchema schema, JsonNode table, String path) {
        List<String> known = schema.keys().stream().map(TableSchema.KeySchema::name).toList();
        for (String name : table.propertyNames()) {
            if (!known.contains(name)) {
                throw error(
                        join(path, name),
                        "unknown key, known here are " + String.join(", ", known));
            }
        }
    }

    private @Nullable Object value(
            TableSchema.KeySchema key, @Nullable JsonNode node, String path) {
        return switch (key.shape()) {
            case TableSchema.Shape.Scalar scalar -> scalarOrDefault(key, scalar.type(), node, path);
            case TableSchema.Shape.Values values -> values(key, values.type(), node, path);
            case TableSchema.Shape.FreeTable free -> freeTable(node, path);
            case TableSchema.Shape.Tables tables -> tables(tables.schema(), node, path);
            case TableSchema.Shape.Table table -> {
                if (node == null && key.optional()) {
                    yield null;
                }
                JsonNode given = node == null ? JsonNodeFactory.instance.objectNode() : node;
                if (!given.isObject()) {
                    throw error(path, "must be a table");
                }
                yield bind(table.schema(), given, path);
            }
        };
    }

    private @Nullable Object scalarOrDefault(
            TableSchema.KeySchema key, ScalarType type, @Nullable JsonNode node, String path) {
        if (node != null) {
            return scalar(key, type, node, path);
        }
        if (key.required()) {
            throw error(path, "missing, must be " + type.allowed(key.key()));
        }
        return key.key().defaultValue().isEmpty() ? null : type.defaultOf(key.key());
    }

    private Object scalar(TableSchema.KeySchema key, ScalarType type, JsonNode node, String path) {
        try {
            return type.parse(node, key.key(), baseDirectory);
        } catch (IllegalArgumentException e) {
            throw error(path, String.valueOf(e.getMessage()));
        }
    }

    private List<Object> values(
            TableSchema.KeySchema key, ScalarType type, @Nullable JsonNode node, String path) {
        List<Object> values = new ArrayList<>();
        for (JsonNode element :
                elements(node, path, "must be a list, each element " + type.allowed(key.key()))) {
            values.add(scalar(key, type, element, path + "[" + values.size() + "]"));
        }
        return List.copyOf(values);
    }

    private List<Object> tables(TableSchema schema, @Nullable JsonNode node, String path) {
        List<Object> tables = new ArrayList<>();
        for (JsonNode element :
                elements(node, path, "must be written as [[" + path + "]] tables")) {
            String elementPath = path + "[" + tables.size() + "]";
            if (!element.isObject()) {
                throw error(elementPath, "must be a table");
            }
            tables.add(bind(schema, element, elementPath));
        }
        return List.copyOf(tables);
    }

    private Iterable<JsonNode> elements(@Nullable JsonNode node, String path, String allowed) {
        if (node == null) {
            return List.of();
        }
        if (!node.isArray()) {
            throw error(path, allowed);
        }
        return node;
    }

    private Map<String, String> freeTable(@Nullable JsonNode node, String path) {
        Map<String, String> values = new LinkedHashMap<>();
        if (node == null) {
            return values;
        }
        if (!node.isObject()) {
            throw error(path, "must be a table");
        }
        for (Map.Entry<String, JsonNode> entry : node.properties()) {
            JsonNode value = entry.getValue();
            if (!value.isString() && !value.isNumber() && !value.isBoolean()) {
                throw error(join(path, entry.getKey()), "must be a string, a number or a boolean");
            }
            values.put(entry.getKey(), value.asString());
        }
        return values;
    }

    private Object construct(TableSchema schema, @Nullable Object[] arguments, String path) {
        try {
            return schema.constructor().newInstance(arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof KeyException bad) {
                throw error(join(path, bad.key()), bad.problem());
            }
            throw new IllegalStateException(
                    "constructor of " + schema.type() + " failed", e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("cannot construct " + schema.type(), e);
        }
    }

    private ConfigException error(String path, String problem) {
        return new ConfigException(file, positions.lineOf(path), path, problem);
    }

    private static String join(String path, String key) {
        return path.isEmpty() ? key : path + "." + key;
    }
}
