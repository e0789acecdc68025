package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.HostPort;
import java.util.List;

/** Server addresses on the command line. */
final class Addresses {
    private Addresses() {}

    /** Throws CommandException USAGE for one that is not HOST:PORT. */
    static List<HostPort> parse(List<String> texts) {
        return texts.stream().map(Addresses::parse).toList();
    }

    private static HostPort parse(String text) {
        try {
            return HostPort.parse(text);
        } catch (IllegalArgumentException e) {
            throw new CommandException(
                    ExitCode.USAGE,
                    "'%s' is not an address (%s); write HOST:PORT, for example 127.0.0.1:7000"
                            .formatted(text, e.getMessage()));
        }
    }
}
