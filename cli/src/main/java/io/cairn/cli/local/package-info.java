/**
 * A whole cluster on this machine, as {@code cairn up} makes it: its directory, its configurations
 * and the processes of its parts. Commands read the directory, start processes through the launcher
 * and watch them; nothing is shared with them but files. The main thread.
 */
@NullMarked
package io.cairn.cli.local;

import org.jspecify.annotations.NullMarked;
