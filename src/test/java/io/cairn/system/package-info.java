/** Whole-system tests: they use Cairn as a user does, through the launcher and real mounts. */
@NullMarked
package io.cairn.system;

import org.jspecify.annotations.NullMarked;
