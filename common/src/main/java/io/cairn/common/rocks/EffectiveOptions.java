package io.cairn.common.rocks;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The options a database really runs with, read from the OPTIONS file that RocksDB writes on
 * opening. RocksDB silently corrects combinations it does not like, so what was asked for is
 * compared with it.
 */
final class EffectiveOptions {
    private static final String SUFFIXES = "KMGT";

    private final Map<String, String> values;

    private EffectiveOptions(Map<String, String> values) {
        this.values = values;
    }

    /** The newest OPTIONS file of the database. */
    static EffectiveOptions read(Path database) throws IOException {
        try (Stream<Path> files = Files.list(database)) {
            Path newest =
                    files.filter(f -> f.getFileName().toString().matches("OPTIONS-\\d+"))
                            .max(Comparator.comparing(f -> f.getFileName().toString()))
                            .orElseThrow(() -> new IOException("no OPTIONS file in " + database));
            Map<String, String> values = new HashMap<>();
            for (String line : Files.readAllLines(newest)) {
                int equals = line.indexOf('=');
                if (equals > 0 && !line.startsWith("#")) {
                    values.put(
                            line.substring(0, equals).strip(), line.substring(equals + 1).strip());
                }
            }
            return new EffectiveOptions(values);
        }
    }

    String get(String option) {
        return values.getOrDefault(option, "");
    }

    /** One line for each option whose effective value is not the requested one. */
    List<String> differences(Map<String, String> requested) {
        List<String> different = new ArrayList<>();
        requested.forEach((option, value) -> {
            String effective = get(option);
            if (!equal(value, effective)) {
                different.add(option + " = " + value + " was requested, RocksDB uses " + effective);
            }
        });
        return different;
    }

    private static boolean equal(String a, String b) {
        return a.equals(b) || normal(a).equals(normal(b));
    }

    /** Numbers without needless zeros and suffixes, which RocksDB reads but does not write. */
    static String normal(String value) {
        int power =
                value.isEmpty()
                        ? -1
                        : SUFFIXES.indexOf(Character.toUpperCase(value.charAt(value.length() - 1)));
        String digits = power < 0 ? value : value.substring(0, value.length() - 1);
        if (!digits.matches("-?\\d+(\\.\\d+)?")) {
            return value;
        }
        BigDecimal factor = BigDecimal.valueOf(1L << (10 * (power + 1)));
        return new BigDecimal(digits).multiply(factor).stripTrailingZeros().toPlainString();
    }
}
