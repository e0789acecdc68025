package io.cairn.cli.output;

import java.io.PrintWriter;

/**
 * One line on the terminal that says how far something is, written over by the next one and gone at
 * the end. Where output goes elsewhere, and with {@code --json}, nothing. One thread.
 */
public final class Progress implements AutoCloseable {
    /** What every terminal has room for: a line that wraps could not be written over. */
    private static final int WIDTH = 79;

    private static final String ERASE = "\r\033[K";

    private final PrintWriter out;
    private final boolean shown;
    private String line = "";

    Progress(PrintWriter out, boolean shown) {
        this.out = out;
        this.shown = shown;
    }

    /**
     * @param json whether the command prints a JSON document
     */
    public static Progress on(PrintWriter out, boolean json) {
        return new Progress(out, !json && isTerminal());
    }

    /** Whether a person sees what the process prints. */
    public static boolean isTerminal() {
        return System.console() != null && System.console().isTerminal();
    }

    public void show(String text) {
        String next = text.length() > WIDTH ? text.substring(0, WIDTH - 3) + "..." : text;
        if (shown && !next.equals(line)) {
            out.print(ERASE + next);
            out.flush();
            line = next;
        }
    }

    /** Leaves an empty line for what the command prints next. */
    @Override
    public void close() {
        if (!line.isEmpty()) {
            out.print(ERASE);
            out.flush();
            line = "";
        }
    }
}
