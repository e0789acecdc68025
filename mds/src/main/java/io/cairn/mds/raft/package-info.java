@NullMarked
package io.cairn.mds.raft;

import org.jspecify.annotations.NullMarked;
