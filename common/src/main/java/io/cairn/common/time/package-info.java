@NullMarked
package io.cairn.common.time;

import org.jspecify.annotations.NullMarked;
