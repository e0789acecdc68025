package io.cairn.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.ConfigDoc;
import io.cairn.common.metrics.MeterDoc;
import io.cairn.common.metrics.MeterSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * The manual of configuration and metrics is generated from the code; this compares the files with
 * what would be generated. {@code make docs} writes them.
 */
class GeneratedDocsTest {
    private static final boolean WRITE = Boolean.getBoolean("cairn.docs.write");

    /**
     * The configuration files: name in config/ and the record that reads it. Found by their names
     * in the sources.
     */
    private static Map<String, Class<? extends Record>> configurations() {
        Map<String, Class<? extends Record>> found = new LinkedHashMap<>();
        put(found, "mds", "MdsConfig");
        put(found, "dataserver", "DataServerConfig");
        put(found, "mount", "MountConfig");
        return found;
    }

    private static void put(
            Map<String, Class<? extends Record>> found, String name, String className) {
        for (Class<?> type : mainClasses(className + ".java")) {
            found.put(name, type.asSubclass(Record.class));
        }
    }

    @Test
    void configuration() {
        StringBuilder manual =
                new StringBuilder(
                        """
                        # Configuration

                        Generated from the records that read the files (`make docs`). Unknown keys, wrong types, bad units and
                        impossible combinations are refused with file, line and key. Relative paths are taken from the directory
                        of the file. There is no default data directory.

                        """);
        configurations()
                .forEach((name, type) -> {
                    manual.append(
                                    ConfigDoc.markdown(
                                            "`cairn " + name + " --config " + name + ".toml`",
                                            type))
                            .append('\n');
                    String title =
                            "Configuration of `cairn "
                                    + name
                                    + "`: every key, those with a default commented out.";
                    compare("config/" + name + ".toml", ConfigDoc.exampleToml(title, type));
                });
        compare("docs/configuration.md", manual.toString());
    }

    @Test
    void metrics() {
        StringBuilder manual =
                new StringBuilder(
                        """
                        # Metrics

                        Generated from the enums that define them (`make docs`). Every meter has the tag `part`: `mds-ID` of a
                        metadata server, `mount`, and of a data server `data` where it is a process of its own (`cairn dataserver`, and so
                        everywhere but in the one process of `cairn up`, where it is `data-1` and so on). Latencies have a `quantile` of 0.5, 0.99, 0.999 and 1 (the longest since the start).

                        **JMX** shows the same meters in the domain `io.cairn`, as read-only attributes with descriptions; how to reach
                        them is in [operations.md](operations.md#metrics). The name of a bean is its type, the part, and the meter's tags
                        in this order:

                        ```
                        io.cairn:type=Mds,part=mds-1                                  counters and gauges without tags
                        io.cairn:type=Dataserver,part=data,disk=0                     those of one disk
                        io.cairn:type=MdsOperation,part=mds-1,op=mutate               a timer: one bean for each operation
                        io.cairn:type=Rpc,part=mount,side=client,peer=mds
                        ```

                        A value with other characters than letters, digits, `.`, `_` and `-` is quoted as `ObjectName.quote` does.
                        An attribute ends with its unit; without one it is a number of things. Timers and distributions have these:

                        | attribute | of a timer | of a distribution |
                        |---|---|---|
                        | `Count` | operations since the start, failed ones included | values since the start |
                        | `Errors` | those that failed | |
                        | `TotalMicros`; `Sum` and unit | time of all of them, in microseconds | sum of all values |
                        | `P50Micros`, `P99Micros`, `P999Micros`; `P50`, `P99`, `P999` and unit | latency that 50, 99, 99.9 % did not exceed, over the last 30 to 60 s | the same of values |
                        | `MaxMicros`; `Max` and unit | the longest since the start | the largest |

                        The JVM's own meters are in Prometheus as `jvm_…` and `process_…`, and in JMX in the domain `java.lang`.

                        """);
        List<Class<?>> enums = new ArrayList<>(mainClasses("Meter.java"));
        enums.sort(Comparator.comparing(Class::getName));
        for (Class<?> type : enums) {
            if (type.isEnum() && MeterSpec.class.isAssignableFrom(type)) {
                List<MeterSpec> meters = new ArrayList<>();
                for (Object constant : type.getEnumConstants()) {
                    meters.add((MeterSpec) constant);
                }
                manual.append(MeterDoc.markdown(type.getSimpleName(), meters)).append('\n');
            }
        }
        compare("docs/metrics.md", manual.toString());
    }

    @Test
    void theOperatorsManualListsEveryExitCode() {
        String manual = SourceTree.read(Path.of("docs/operations.md"));
        for (ExitCode code : ExitCode.values()) {
            assertThat(manual).contains("| %d | %s |".formatted(code.number(), code.meaning()));
        }
    }

    /** Classes of the modules whose file name ends like this. */
    private static List<Class<?>> mainClasses(String ending) {
        List<Class<?>> classes = new ArrayList<>();
        for (Path file : SourceTree.files(ending)) {
            String path = file.toString();
            int start = path.indexOf("src/main/java/");
            if (start >= 0) {
                String name =
                        path.substring(
                                start + "src/main/java/".length(),
                                path.length() - ".java".length());
                try {
                    classes.add(
                            Class.forName(
                                    name.replace('/', '.'),
                                    false,
                                    GeneratedDocsTest.class.getClassLoader()));
                } catch (ClassNotFoundException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        return classes;
    }

    private static void compare(String file, String generated) {
        Path path = SourceTree.ROOT.resolve(file);
        if (WRITE) {
            try {
                Files.createDirectories(path.getParent());
                Files.writeString(path, generated);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        assertThat(path).as("run: make docs").exists().hasContent(generated);
    }
}
