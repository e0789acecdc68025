@NullMarked
package io.cairn.dataserver.wal;

import org.jspecify.annotations.NullMarked;
