/**
 * Primary/backup replication of one placement group (PG) as state machines without threads, clock
 * or I/O; the server and the seeded simulation run the same code. Events come in through {@link
 * io.cairn.dataserver.replication.PgReplica}, actions go out through {@link
 * io.cairn.dataserver.replication.PgOutputs} to the store and to the other members. Every method is
 * called by the one thread that owns the PG; only {@link
 * io.cairn.dataserver.replication.SpaceLedger} is shared between PGs.
 */
@NullMarked
package io.cairn.dataserver.replication;

import org.jspecify.annotations.NullMarked;
