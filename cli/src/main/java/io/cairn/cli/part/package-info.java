/**
 * The parts that run in this process: MDS members, data servers, mounts. A command hands their
 * configurations down and waits until the process is told to stop; parts are closed in the reverse
 * order. The main thread starts them, a shutdown hook closes, and parts report failures from
 * threads of their own.
 */
@NullMarked
package io.cairn.cli.part;

import org.jspecify.annotations.NullMarked;
