@NullMarked
package io.cairn.common.map;

import org.jspecify.annotations.NullMarked;
