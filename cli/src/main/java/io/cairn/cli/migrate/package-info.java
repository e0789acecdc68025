/**
 * Moves what lies below a directory into another pool: walks over names on the command's thread,
 * and has files moved on threads of their own, whose number is bounded. Figures go to the terminal
 * while it lasts, and into one report at the end.
 */
@NullMarked
package io.cairn.cli.migrate;

import org.jspecify.annotations.NullMarked;
