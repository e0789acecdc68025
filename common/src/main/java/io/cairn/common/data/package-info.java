@NullMarked
package io.cairn.common.data;

import org.jspecify.annotations.NullMarked;
