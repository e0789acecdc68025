@NullMarked
package io.cairn.common;

import org.jspecify.annotations.NullMarked;
