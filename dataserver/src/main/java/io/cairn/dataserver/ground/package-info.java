@NullMarked
package io.cairn.dataserver.ground;

import org.jspecify.annotations.NullMarked;
