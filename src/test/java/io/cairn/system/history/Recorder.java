package io.cairn.system.history;

import io.cairn.system.history.Operation.Action;
import io.cairn.system.history.Operation.Outcome;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Writes operations to a file as they begin and as they end, so that it tells of those in flight
 * too when its process is killed. Any thread.
 *
 * <pre>
 *   NANOS PROCESS invoke  OBJECT ACTION [ARGUMENT]
 *   NANOS PROCESS ok|failed|unknown [RESULT]
 * </pre>
 */
public final class Recorder implements AutoCloseable {
    private static final String INVOKE = "invoke";

    private final Writer out;

    public Recorder(Path file) {
        try {
            out = Files.newBufferedWriter(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The process begins an operation; it is in the file when this returns. */
    public void invoke(String process, String object, Action action, String argument) {
        line(process, INVOKE + " " + object + " " + action + " " + argument);
    }

    /** The process's operation has ended. */
    public void complete(String process, Outcome outcome, String result) {
        line(process, outcome.name().toLowerCase(Locale.ROOT) + " " + result);
    }

    private synchronized void line(String process, String text) {
        try {
            out.write(System.nanoTime() + " " + process + " " + text.replace('\n', ' ') + "\n");
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            out.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The operations of a file, in the order of their beginnings. What has not ended has an unknown
     * outcome.
     */
    public static List<Operation> read(Path file) {
        Map<String, Begun> inFlight = new HashMap<>();
        List<Operation> all = new ArrayList<>();
        try (BufferedReader in = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", 4);
                long nanos = Long.parseLong(words[0]);
                String process = words[1];
                if (words[2].equals(INVOKE)) {
                    inFlight.put(process, new Begun(nanos, words[3].split(" ", 3)));
                } else {
                    Begun begun = inFlight.remove(process);
                    if (begun == null) {
                        throw new AssertionError(file + ": nothing has begun before: " + line);
                    }
                    Outcome outcome = Outcome.valueOf(words[2].toUpperCase(Locale.ROOT));
                    all.add(begun.ended(process, outcome, words[3], nanos));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        inFlight.forEach((process, begun) ->
                all.add(begun.ended(process, Outcome.UNKNOWN, "not answered", Operation.NEVER)));
        all.sort(Comparator.comparingLong(Operation::invokedNanos));
        return all;
    }

    /**
     * @param words object, action, argument
     */
    private record Begun(long nanos, String[] words) {
        Operation ended(String process, Outcome outcome, String result, long completed) {
            return new Operation(
                    process,
                    words[0],
                    Action.valueOf(words[1]),
                    words[2],
                    outcome,
                    result,
                    nanos,
                    outcome == Outcome.UNKNOWN ? Operation.NEVER : completed);
        }
    }
}
