/**
 * One disk behind one door, {@link io.cairn.dataserver.store.DiskStore}: write-ahead log (WAL),
 * data file and chunk index kept consistent with each other. An appended operation goes to the WAL
 * and into the overlay that reads look at first; once it is committed, the flusher merges it into
 * the data file and the index, and the WAL forgets it. The owner of a PG appends; each disk has a
 * flusher thread, a thread for large writes and a few threads that read.
 */
@NullMarked
package io.cairn.dataserver.store;

import org.jspecify.annotations.NullMarked;
