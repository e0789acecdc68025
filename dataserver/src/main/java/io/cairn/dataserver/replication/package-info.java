/**
 * Primary/backup replication of one PG replica as state machines without threads, clock or I/O:
 * events in through {@link io.cairn.dataserver.replication.PgReplica}, actions out through {@link
 * io.cairn.dataserver.replication.PgOutputs}. The server and the seeded driver run the same code.
 */
@NullMarked
package io.cairn.dataserver.replication;

import org.jspecify.annotations.NullMarked;
