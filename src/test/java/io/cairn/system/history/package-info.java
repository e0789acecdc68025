/**
 * Histories: what programs asked of a file system and what they were told, with the times of both,
 * and checkers that say whether any file system that keeps its promises could have answered so.
 * Knows neither mounts nor processes.
 */
@NullMarked
package io.cairn.system.history;

import org.jspecify.annotations.NullMarked;
