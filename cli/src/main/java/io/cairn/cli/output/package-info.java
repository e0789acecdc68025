/**
 * How commands print: text for people, one JSON document for programs. Replies come in, lines go
 * out, and nothing is asked of a server here. The main thread.
 */
@NullMarked
package io.cairn.cli.output;

import org.jspecify.annotations.NullMarked;
