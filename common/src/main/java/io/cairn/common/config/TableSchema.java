package io.cairn.common.config;

import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What a configuration record allows: derived from its components once, used by the reader and by
 * the manual.
 */
record TableSchema(Class<?> type, List<KeySchema> keys) {

    /** The shape of a key's value. */
    sealed interface Shape {
        /** One value. */
        record Scalar(ScalarType type) implements Shape {}

        /** A TOML array of values. */
        record Values(ScalarType type) implements Shape {}

        /** A nested table. */
        record Table(TableSchema schema) implements Shape {}

        /** An array of tables. */
        record Tables(TableSchema schema) implements Shape {}

        /** A table with keys of the administrator's choice and scalar values. */
        record FreeTable() implements Shape {}
    }

    /** One key of the table. */
    record KeySchema(String name, Key key, Shape shape, boolean optional) {
        /** Whether the file must give this key. */
        boolean required() {
            return shape instanceof Shape.Scalar && !optional && key.defaultValue().isEmpty();
        }
    }

    /**
     * @throws IllegalStateException if the record is not one of configuration: a mistake of the
     *     programmer
     */
    static TableSchema of(Class<?> type) {
        if (!type.isRecord()) {
            throw new IllegalStateException(type + " is not a record");
        }
        List<KeySchema> keys = new ArrayList<>();
        for (RecordComponent component : type.getRecordComponents()) {
            Key key = component.getAnnotation(Key.class);
            if (key == null) {
                throw new IllegalStateException(type + "." + component.getName() + " has no @Key");
            }
            boolean optional = component.getType() == Optional.class;
            Type valueType =
                    optional ? argument(component.getGenericType(), 0) : component.getGenericType();
            keys.add(
                    new KeySchema(
                            snakeCase(component.getName()), key, shapeOf(valueType), optional));
        }
        return new TableSchema(type, List.copyOf(keys));
    }

    /** The canonical constructor. */
    Constructor<?> constructor() {
        Class<?>[] types =
                Arrays.stream(type.getRecordComponents())
                        .map(RecordComponent::getType)
                        .toArray(Class<?>[]::new);
        try {
            Constructor<?> constructor = type.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("record without canonical constructor: " + type, e);
        }
    }

    static String snakeCase(String camelCase) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < camelCase.length(); i++) {
            char c = camelCase.charAt(i);
            if (Character.isUpperCase(c)) {
                out.append('_').append(Character.toLowerCase(c));
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }

    private static Shape shapeOf(Type type) {
        if (type instanceof Class<?> c) {
            Optional<ScalarType> scalar = ScalarType.of(c);
            return scalar.isPresent() ? new Shape.Scalar(scalar.get()) : new Shape.Table(of(c));
        }
        if (type instanceof ParameterizedType p && p.getRawType() == Map.class) {
            return new Shape.FreeTable();
        }
        if (type instanceof ParameterizedType p
                && p.getRawType() == List.class
                && argument(p, 0) instanceof Class<?> element) {
            Optional<ScalarType> scalar = ScalarType.of(element);
            return scalar.isPresent()
                    ? new Shape.Values(scalar.get())
                    : new Shape.Tables(of(element));
        }
        throw new IllegalStateException("no configuration type: " + type);
    }

    private static Type argument(Type type, int index) {
        return ((ParameterizedType) type).getActualTypeArguments()[index];
    }
}
