/**
 * What the leader does of its own accord, beside requests: it deletes the data of deleted inodes,
 * carries truncations to the chunks, and lets the map forget evicted sessions.
 *
 * <p>Each of these reads its work from the replicated state, sends it to the data servers or into
 * the map, and logs an entry when it is done. Nothing is kept between two terms: on becoming leader
 * each begins with what the state holds.
 *
 * <p>Threads: the control thread only; the applying thread tells the truncator of new truncations.
 */
@NullMarked
package io.cairn.mds.background;

import org.jspecify.annotations.NullMarked;
