/**
 * Which release of Cairn this is: {@link io.cairn.common.release.Release} reads it from the build,
 * and every part tells it to its peers when they connect. Any thread.
 */
@NullMarked
package io.cairn.common.release;

import org.jspecify.annotations.NullMarked;
