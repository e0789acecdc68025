@NullMarked
package io.cairn.cli;

import org.jspecify.annotations.NullMarked;
