package io.cairn.cli.command;

import java.util.Arrays;

/** Exit codes of {@code cairn}. Scripts rely on them: a number never changes its meaning. */
public enum ExitCode {
    SUCCESS(0, "done"),
    FAILURE(1, "failed for another reason than those below"),
    USAGE(2, "bad command line"),
    CONFIGURATION(3, "bad configuration file, directory or environment"),
    UNREACHABLE(4, "a server could not be reached in time"),
    BUSY(5, "in use: directory, port or mount point"),
    DEGRADED(6, "something of the cluster is missing, nearly full or not as configured"),
    DISK(74, "a data server stopped at once, since its last disk failed");

    private final int number;
    private final String meaning;

    ExitCode(int number, String meaning) {
        this.number = number;
        this.meaning = meaning;
    }

    /** What a part of the cluster ended with; {@link #FAILURE} for 0 and numbers not listed. */
    public static ExitCode of(int number) {
        return Arrays.stream(values())
                .filter(code -> code.number == number && code != SUCCESS)
                .findFirst()
                .orElse(FAILURE);
    }

    public int number() {
        return number;
    }

    /** For {@code --help} and the manual. */
    public String meaning() {
        return meaning;
    }
}
