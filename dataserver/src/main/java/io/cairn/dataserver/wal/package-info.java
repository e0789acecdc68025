/**
 * The write-ahead log (WAL) of one disk: records in batches, batches in segments of fixed size, and
 * the recovery that reads them back. An appended record is copied into a batch; the batch is
 * written and synced with all others that wait, then their callbacks run; segments return to the
 * free ones when the index has everything in them. Any thread appends and reads; one sync thread
 * for each log writes.
 */
@NullMarked
package io.cairn.dataserver.wal;

import org.jspecify.annotations.NullMarked;
