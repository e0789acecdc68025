@NullMarked
package io.cairn.common.config;

import org.jspecify.annotations.NullMarked;
