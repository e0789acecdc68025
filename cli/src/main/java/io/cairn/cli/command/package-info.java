/**
 * What every command has: its options, the exit codes, and the exception that carries one. A
 * command throws, and the executable makes one line and an exit code of it. The main thread.
 */
@NullMarked
package io.cairn.cli.command;

import org.jspecify.annotations.NullMarked;
