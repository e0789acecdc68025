/** Files and directories that survive a power loss, and whole trees of them. */
@NullMarked
package io.cairn.common.file;

import org.jspecify.annotations.NullMarked;
