@NullMarked
package io.cairn.dataserver.mdslink;

import org.jspecify.annotations.NullMarked;
