package io.cairn.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.testcontainers.shaded.org.yaml.snakeyaml.Yaml;

/**
 * docker/compose.yaml and docker/run describe the same containers, from what docker/configure
 * writes. Needs no docker: a program of that name writes down what docker/run asks for.
 */
class ContainerFilesTest {
    private static final Duration LIMIT = Duration.ofMinutes(2);

    /** Nothing exists yet; whatever is asked for is done. One line for each container started. */
    private static final String DOCKER =
            """
            #!/bin/bash
            case "$1 $2" in
                "container inspect" | "volume inspect") exit 1 ;;
                "run "*) shift; printf '%s\\n' "$(printf '%q ' "$@")" >>"$ASKED" ;;
            esac
            exit 0
            """;

    private static final Pattern VARIABLE = Pattern.compile("\\$\\{(\\w+)(?::\\?[^}]*)?}");

    @TempDir private Path directory = Path.of("");

    /** What a container is started with, all lists sorted but the command. */
    private record Node(
            String hostname,
            String image,
            boolean init,
            String restart,
            List<String> volumes,
            List<String> others,
            List<String> command) {}

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void composeAndRunStartTheSameContainers(int members) throws IOException {
        Path config = configure(members);
        Map<String, Node> run = askedByRun(config);
        assertThat(run).hasSize(members + 4).isEqualTo(composed(config, members == 3));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void theClientKnowsEveryMetadataServer(int members) throws IOException {
        Path config = configure(members);
        Node client = Objects.requireNonNull(askedByRun(config).get("client"));
        String all = members == 1 ? "mds1:7000" : "mds1:7000,mds2:7000,mds3:7000";
        assertThat(client.command()).startsWith("mount", all, "/mnt/cairn");
        assertThat(Files.readString(config.resolve("mount.toml")))
                .contains("mds = [\"" + all.replace(",", "\", \"") + "\"]");
    }

    private Path configure(int members) {
        Path config = directory.resolve("config");
        ProcessBuilder configure =
                new ProcessBuilder(program("docker/configure"), Integer.toString(members));
        configure.environment().put("CONFIG", config.toString());
        Shell.run(configure, LIMIT).ok();
        return config;
    }

    private static String program(String path) {
        return SourceTree.ROOT.resolve(path).toString();
    }

    private Map<String, Node> askedByRun(Path config) throws IOException {
        Path asked = directory.resolve("asked");
        Path docker = Files.createDirectories(directory.resolve("bin")).resolve("docker");
        Files.writeString(docker, DOCKER);
        assertThat(docker.toFile().setExecutable(true)).isTrue();
        ProcessBuilder up = new ProcessBuilder(program("docker/run"), "up");
        Map<String, String> environment = up.environment();
        environment.put("PATH", docker.getParent() + ":" + environment.get("PATH"));
        environment.put("CONFIG", config.toString());
        environment.put("ASKED", asked.toString());
        Shell.run(up, LIMIT).ok();
        Map<String, Node> nodes = new TreeMap<>();
        for (String line : Files.readAllLines(asked)) {
            List<String> words = words(line);
            if (!words.contains("--prepare")) {
                Node node = parsed(words, config);
                nodes.put(node.hostname(), node);
            }
        }
        return nodes;
    }

    /** What bash quoted with %q: here only backslashes. */
    private static List<String> words(String line) {
        assertThat(line).doesNotContain("'");
        return List.of(line.replace("\\", "").strip().split(" "));
    }

    private static Node parsed(List<String> words, Path config) {
        Map<String, List<String>> options = new TreeMap<>();
        int i = 0;
        while (words.get(i).startsWith("-")) {
            String option = words.get(i++);
            boolean flag = option.equals("-d") || option.equals("--init");
            options.computeIfAbsent(option, o -> new ArrayList<>()).add(flag ? "" : words.get(i++));
        }
        List<String> volumes =
                options.getOrDefault("-v", List.of()).stream()
                        .map(v -> v.replace(config.toString(), "./config"))
                        .map(v -> v.replaceFirst("^cairn-", ""))
                        .sorted()
                        .toList();
        String host = one(options, "--hostname");
        assertThat(one(options, "--network-alias")).isEqualTo(host);
        assertThat(one(options, "--name")).isEqualTo("cairn-" + host);
        TreeSet<String> others = new TreeSet<>();
        for (String option : List.of("--device", "--cap-add", "--security-opt", "-e")) {
            options.getOrDefault(option, List.of()).forEach(v -> others.add(option + " " + v));
        }
        return new Node(
                host,
                words.get(i),
                options.containsKey("--init"),
                one(options, "--restart"),
                volumes,
                List.copyOf(others),
                words.subList(i + 1, words.size()));
    }

    private static String one(Map<String, List<String>> options, String option) {
        List<String> values = options.getOrDefault(option, List.of());
        assertThat(values).as(option).hasSize(1);
        return values.getFirst();
    }

    /** The services that compose starts, with or without its profile "three". */
    private static Map<String, Node> composed(Path config, boolean three) throws IOException {
        String text = SourceTree.read(Path.of("docker/compose.yaml"));
        Map<String, String> variables = new TreeMap<>();
        for (String line : Files.readAllLines(config.resolve(".env"))) {
            variables.put(
                    line.substring(0, line.indexOf('=')), line.substring(line.indexOf('=') + 1));
        }
        String filled =
                VARIABLE.matcher(text)
                        .replaceAll(m ->
                                Matcher.quoteReplacement(
                                        Objects.requireNonNull(variables.get(m.group(1)))));
        Map<String, Object> file = new Yaml().load(filled);
        Map<String, Node> nodes = new TreeMap<>();
        Map<?, ?> volumes = (Map<?, ?>) Objects.requireNonNull(file.get("volumes"));
        ((Map<?, ?>) Objects.requireNonNull(file.get("services")))
                .forEach((name, value) -> {
                    Map<?, ?> service = (Map<?, ?>) value;
                    if (three || strings(service.get("profiles")).isEmpty()) {
                        assertThat(service.get("hostname")).isEqualTo(name);
                        nodes.put(String.valueOf(name), node(service, volumes));
                    }
                });
        return nodes;
    }

    private static Node node(Map<?, ?> service, Map<?, ?> volumes) {
        TreeSet<String> others = new TreeSet<>();
        strings(service.get("devices")).forEach(v -> others.add("--device " + v));
        strings(service.get("cap_add")).forEach(v -> others.add("--cap-add " + v));
        strings(service.get("security_opt")).forEach(v -> others.add("--security-opt " + v));
        strings(service.get("environment")).forEach(v -> others.add("-e " + v));
        List<String> mounted = strings(service.get("volumes")).stream().sorted().toList();
        for (String volume : mounted) {
            String source = volume.substring(0, volume.indexOf(':'));
            assertThat(source.startsWith("./") || volumes.containsKey(source)).as(volume).isTrue();
        }
        return new Node(
                String.valueOf(service.get("hostname")),
                String.valueOf(service.get("image")),
                Boolean.TRUE.equals(service.get("init")),
                String.valueOf(service.get("restart")),
                mounted,
                List.copyOf(others),
                strings(service.get("command")));
    }

    private static List<String> strings(@Nullable Object list) {
        return list == null ? List.of() : ((List<?>) list).stream().map(String::valueOf).toList();
    }
}
