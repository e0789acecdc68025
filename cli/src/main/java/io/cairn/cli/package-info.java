/**
 * The one executable, {@code cairn}: every server and every administrator's command. A command is a
 * picocli class in {@link io.cairn.cli.Main}'s list; it returns an {@link
 * io.cairn.cli.command.ExitCode} or throws, and {@link io.cairn.cli.Failures} turns what it throws
 * into one line and an exit code. Commands that ask servers do so through {@link
 * io.cairn.cli.admin.AdminClient}, and print through {@code output}. The main thread.
 */
@NullMarked
package io.cairn.cli;

import org.jspecify.annotations.NullMarked;
