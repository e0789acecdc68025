@NullMarked
package io.cairn.mds.map;

import org.jspecify.annotations.NullMarked;
