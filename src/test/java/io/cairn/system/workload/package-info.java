/**
 * A process that uses the objects of one mount, at random, with other processes on other mounts,
 * and records what it asked for and was told. Runs alone, so that nothing but it waits for a mount
 * that does not answer.
 */
@NullMarked
package io.cairn.system.workload;

import org.jspecify.annotations.NullMarked;
