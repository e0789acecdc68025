/**
 * The one executable, {@code cairn}: every server and every administrator's command. A command is a
 * picocli class in {@link io.cairn.cli.Main}'s list; it returns an {@link
 * io.cairn.cli.command.ExitCode} or throws, and {@link io.cairn.cli.Failures} turns what it throws
 * into one line and an exit code.
 */
@NullMarked
package io.cairn.cli;

import org.jspecify.annotations.NullMarked;
