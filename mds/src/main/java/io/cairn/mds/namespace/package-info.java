@NullMarked
package io.cairn.mds.namespace;

import org.jspecify.annotations.NullMarked;
