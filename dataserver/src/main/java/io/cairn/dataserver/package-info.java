@NullMarked
package io.cairn.dataserver;

import org.jspecify.annotations.NullMarked;
