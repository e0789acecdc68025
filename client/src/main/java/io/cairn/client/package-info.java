@NullMarked
package io.cairn.client;

import org.jspecify.annotations.NullMarked;
