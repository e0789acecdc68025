@NullMarked
package io.cairn.common.layout;

import org.jspecify.annotations.NullMarked;
