@NullMarked
package io.cairn.common.rocks;

import org.jspecify.annotations.NullMarked;
