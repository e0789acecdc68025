@NullMarked
package io.cairn.cli.local;

import org.jspecify.annotations.NullMarked;
