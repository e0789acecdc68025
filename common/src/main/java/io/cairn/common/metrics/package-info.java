@NullMarked
package io.cairn.common.metrics;

import org.jspecify.annotations.NullMarked;
