/**
 * What system tests stand on: a cluster made through the launcher as a user makes one, further
 * mounts, shells, snapshots of trees. Knows no test.
 */
@NullMarked
package io.cairn.system.support;

import org.jspecify.annotations.NullMarked;
