@NullMarked
package io.cairn.common.errno;

import org.jspecify.annotations.NullMarked;
