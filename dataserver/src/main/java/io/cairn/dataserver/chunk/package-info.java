@NullMarked
package io.cairn.dataserver.chunk;

import org.jspecify.annotations.NullMarked;
