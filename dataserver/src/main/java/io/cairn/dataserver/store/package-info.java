@NullMarked
package io.cairn.dataserver.store;

import org.jspecify.annotations.NullMarked;
