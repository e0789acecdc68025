/**
 * The leader's background work: it deletes the data of deleted inodes, applies truncations to the
 * chunks, and removes evicted sessions from the map.
 *
 * <p>Each task reads its work from the replicated state, sends it to the data servers or into the
 * map, and logs an entry when it is done. Nothing is kept between two terms: on becoming leader
 * each task begins with what the state holds.
 *
 * <p>Threads: the control thread only; the applying thread tells the truncator of new truncations.
 */
@NullMarked
package io.cairn.mds.background;

import org.jspecify.annotations.NullMarked;
