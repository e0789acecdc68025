/**
 * The data path: pieces of files on their way to and from the primaries of their placement groups.
 * A room above asks for a piece of one chunk; it is sent to the primary that the cluster map names,
 * again until it is answered or late, and the outcome goes back up. Any thread asks; outcomes come
 * on event loops or on the timer.
 */
@NullMarked
package io.cairn.client.data;

import org.jspecify.annotations.NullMarked;
