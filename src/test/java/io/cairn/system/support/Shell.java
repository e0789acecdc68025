package io.cairn.system.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Runs programs and collects what they say. Any thread. */
public final class Shell {
    private static final Duration LIMIT = Duration.ofMinutes(10);

    /** The beginning of a line that a server logs. */
    private static final Pattern LOGGED =
            Pattern.compile("\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{3} ");

    private Shell() {}

    public record Result(int exitCode, String out, String err) {
        /** Fails the test with everything the program said unless it exited with 0. */
        public Result ok() {
            if (exitCode != 0) {
                throw new AssertionError("exit code " + exitCode + "\n" + out + err);
            }
            return this;
        }

        /**
         * Fails the test unless the program ended with this code after saying one line on standard
         * error, with all of these texts in it. Servers and mounts also log there, with time
         * stamps, which is not counted; neither are the parts' logs that {@link Cluster#tryUp}
         * adds.
         */
        public void saysOneLine(int expectedCode, String... texts) {
            assertThat(exitCode).as(err).isEqualTo(expectedCode);
            assertThat(err.lines().takeWhile(line -> !line.startsWith("----")))
                    .as(err)
                    .filteredOn(line -> !line.isEmpty() && !LOGGED.matcher(line).lookingAt())
                    .singleElement()
                    .asString()
                    .startsWith("cairn: ")
                    .contains(texts);
        }
    }

    public static Result run(String... command) {
        return run(List.of(command));
    }

    /** Runs one line of bash. */
    public static Result bash(String line) {
        return run("bash", "-c", line);
    }

    public static Result run(List<String> command) {
        return run(new ProcessBuilder(command), LIMIT);
    }

    public static Result run(ProcessBuilder builder, Duration limit) {
        try {
            Path out = Files.createTempFile("cairn-out", ".txt");
            Path err = Files.createTempFile("cairn-err", ".txt");
            Process process =
                    builder.redirectOutput(out.toFile())
                            .redirectError(err.toFile())
                            .redirectInput(Path.of("/dev/null").toFile())
                            .start();
            boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
            if (!ended) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
            }
            Result result = new Result(ended ? process.exitValue() : -1, read(out), read(err));
            Files.delete(out);
            Files.delete(err);
            if (!ended) {
                throw new AssertionError(
                        builder.command() + " took longer than " + limit + "\n" + result);
            }
            return result;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + builder.command(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while running " + builder.command(), e);
        }
    }

    private static String read(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }
}
