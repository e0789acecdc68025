/**
 * Read leases: for how long sessions may believe names and attributes without asking, and how they
 * are told to forget them (docs/architecture/metadata.md, Read leases).
 *
 * <p>A query notes where it begins ({@link io.cairn.mds.lease.ReadLeases#begin}), reads, and lends
 * what it has read. An entry that changes what was lent recalls it before anybody sees the change,
 * and every answer that tells of the change waits until the recall is over.
 *
 * <p>Threads: queries and acknowledgements on event loops, entries on the applying thread, time on
 * the control thread. Answers that have waited leave on whichever ends the last recall.
 */
@NullMarked
package io.cairn.mds.lease;

import org.jspecify.annotations.NullMarked;
