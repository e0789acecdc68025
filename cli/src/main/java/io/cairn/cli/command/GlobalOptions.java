package io.cairn.cli.command;

import picocli.CommandLine.Option;

/** Options that every command has. */
public final class GlobalOptions {
    @Option(names = "--debug", description = "Log everything and print stack traces.")
    private boolean debug;

    @Option(names = "--json", description = "Print one JSON document instead of text.")
    private boolean json;

    public boolean debug() {
        return debug;
    }

    public boolean json() {
        return json;
    }
}
