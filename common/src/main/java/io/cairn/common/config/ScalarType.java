package io.cairn.common.config;

import java.math.BigInteger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import tools.jackson.databind.JsonNode;

/**
 * How one Java type is written in TOML: reading, range check, and the texts for the manual. The
 * only place that knows the spelling of values.
 *
 * @param javaType the component's (boxed) type
 * @param allowed what the manual and error messages say is allowed
 * @param quoted whether the value is a TOML string
 * @param read from the TOML value; throws IllegalArgumentException when it is not one
 * @param fromText from text without quotes, as in {@link Key}
 * @param nonsense TOML texts that are not of this type, for tests
 */
record ScalarType(
        Class<?> javaType,
        String allowed,
        boolean quoted,
        Function<JsonNode, Comparable<?>> read,
        Function<String, Comparable<?>> fromText,
        List<String> nonsense) {

    private static final List<String> NOT_TEXT = List.of("17", "true", "[\"a\"]", "{}");

    private static final List<ScalarType> FIXED =
            List.of(
                    text(String.class, "a string", s -> s, List.of()),
                    text(
                            Path.class,
                            "a path",
                            s -> {
                                if (s.isEmpty()) {
                                    throw new IllegalArgumentException("empty path");
                                }
                                return Path.of(s);
                            },
                            List.of("\"\"")),
                    text(
                            Duration.class,
                            "a duration such as \"250ms\" (units us, ms, s, min, h, d)",
                            Durations::parse,
                            List.of("\"5\"", "\"5 parsecs\"", "\"-5s\"", "\"\"")),
                    text(
                            ByteSize.class,
                            "a size such as \"64MiB\" (units B, KiB, MiB, GiB, TiB)",
                            ByteSize::parse,
                            List.of("\"5\"", "\"5MB\"", "\"-5MiB\"", "\"\"")),
                    text(
                            HostPort.class,
                            "an address such as \"127.0.0.1:7000\"",
                            HostPort::parse,
                            List.of("\"localhost\"", "\"localhost:99999\"", "\":\"", "\"\"")),
                    bare(
                            Boolean.class,
                            "true or false",
                            ScalarType::readBoolean,
                            ScalarType::parseBoolean),
                    bare(
                            Integer.class,
                            "a whole number",
                            n -> whole(n).intValueExact(),
                            Integer::valueOf),
                    bare(
                            Long.class,
                            "a whole number",
                            n -> whole(n).longValueExact(),
                            Long::valueOf),
                    bare(Double.class, "a number", ScalarType::readDouble, Double::valueOf));

    /** The type for a Java class, empty when the class is no scalar. */
    static Optional<ScalarType> of(Class<?> type) {
        if (type.isEnum()) {
            return Optional.of(ofEnum(type));
        }
        Class<?> boxed = java.lang.invoke.MethodType.methodType(type).wrap().returnType();
        return FIXED.stream().filter(t -> t.javaType == boxed).findFirst();
    }

    /** The value, or the reason why not. */
    Object parse(JsonNode node, Key key, Path baseDirectory) {
        Comparable<?> value;
        try {
            value = read.apply(node);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new IllegalArgumentException(
                    "bad value " + shown(node) + ", must be " + allowed(key), e);
        }
        if (!inRange(value, key)) {
            throw new IllegalArgumentException(
                    "value " + shown(node) + " out of range, must be " + allowed(key));
        }
        return value instanceof Path path ? baseDirectory.resolve(path).normalize() : value;
    }

    /** The default written in the annotation. */
    Object defaultOf(Key key) {
        Comparable<?> value = fromText.apply(key.defaultValue());
        if (!inRange(value, key)) {
            throw new IllegalStateException("default " + key.defaultValue() + " out of range");
        }
        return value;
    }

    /** What is allowed, with the range of this key. */
    String allowed(Key key) {
        if (key.min().isEmpty() && key.max().isEmpty()) {
            return allowed;
        }
        if (key.max().isEmpty()) {
            return allowed + ", at least " + key.min();
        }
        return allowed
                + (key.min().isEmpty() ? ", at most " : ", " + key.min() + " to ")
                + key.max();
    }

    /** Text of a value as it stands in a TOML file. */
    String toToml(String text) {
        return quoted ? "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"" : text;
    }

    private boolean inRange(Comparable<?> value, Key key) {
        return (key.min().isEmpty() || compare(value, fromText.apply(key.min())) >= 0)
                && (key.max().isEmpty() || compare(value, fromText.apply(key.max())) <= 0);
    }

    @SuppressWarnings("unchecked") // both sides were made by the same parser
    private static int compare(Comparable<?> a, Comparable<?> b) {
        return ((Comparable<Object>) a).compareTo(b);
    }

    private static String shown(JsonNode node) {
        String text = node.toString();
        return text.length() <= 60 ? text : text.substring(0, 57) + "...";
    }

    private static ScalarType text(
            Class<?> type,
            String allowed,
            Function<String, Comparable<?>> parse,
            List<String> nonsense) {
        List<String> all = new ArrayList<>(nonsense);
        all.addAll(NOT_TEXT);
        return new ScalarType(
                type, allowed, true, n -> parse.apply(string(n)), parse, List.copyOf(all));
    }

    private static ScalarType bare(
            Class<?> type,
            String allowed,
            Function<JsonNode, Comparable<?>> read,
            Function<String, Comparable<?>> parse) {
        return new ScalarType(
                type, allowed, false, read, parse, List.of("\"many\"", "[1]", "{}", "1979-05-27"));
    }

    private static ScalarType ofEnum(Class<?> type) {
        List<Enum<?>> constants = new ArrayList<>();
        for (Object constant : type.getEnumConstants()) {
            constants.add((Enum<?>) constant);
        }
        String allowed =
                "one of "
                        + String.join(
                                ", ",
                                constants.stream().map(c -> "\"" + spelled(c) + "\"").toList());
        Function<String, Comparable<?>> parse =
                s ->
                        constants.stream()
                                .filter(c -> spelled(c).equals(s))
                                .findFirst()
                                .orElseThrow(() -> new IllegalArgumentException("no such value"));
        return text(type, allowed, parse, List.of("\"nonsense\"", "\"\""));
    }

    /** How an enum constant is written in a file. */
    static String spelled(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static String string(JsonNode n) {
        if (!n.isString()) {
            throw new IllegalArgumentException("not a string");
        }
        return n.stringValue();
    }

    private static BigInteger whole(JsonNode n) {
        if (!n.isIntegralNumber()) {
            throw new IllegalArgumentException("not a whole number");
        }
        return n.bigIntegerValue();
    }

    private static Comparable<?> readBoolean(JsonNode n) {
        if (!n.isBoolean()) {
            throw new IllegalArgumentException("not a boolean");
        }
        return n.booleanValue();
    }

    private static Comparable<?> readDouble(JsonNode n) {
        if (!n.isNumber() || !Double.isFinite(n.doubleValue())) {
            throw new IllegalArgumentException("not a number");
        }
        return n.doubleValue();
    }

    private static Comparable<?> parseBoolean(String s) {
        if (!Arrays.asList("true", "false").contains(s)) {
            throw new IllegalArgumentException("not a boolean");
        }
        return Boolean.valueOf(s);
    }
}
