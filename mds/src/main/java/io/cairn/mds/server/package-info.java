@NullMarked
package io.cairn.mds.server;

import org.jspecify.annotations.NullMarked;
