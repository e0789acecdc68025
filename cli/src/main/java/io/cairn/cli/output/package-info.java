/** How commands print. */
@NullMarked
package io.cairn.cli.output;

import org.jspecify.annotations.NullMarked;
