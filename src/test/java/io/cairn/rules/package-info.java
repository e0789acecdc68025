/**
 * Rules about the code itself, part of {@code make check}: dependencies, tidiness, generated
 * documentation.
 */
@NullMarked
package io.cairn.rules;

import org.jspecify.annotations.NullMarked;
