@NullMarked
package io.cairn.mds;

import org.jspecify.annotations.NullMarked;
