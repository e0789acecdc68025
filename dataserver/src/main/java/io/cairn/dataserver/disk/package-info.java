@NullMarked
package io.cairn.dataserver.disk;

import org.jspecify.annotations.NullMarked;
