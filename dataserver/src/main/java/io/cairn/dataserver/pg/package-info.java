@NullMarked
package io.cairn.dataserver.pg;

import org.jspecify.annotations.NullMarked;
