/**
 * The placement groups (PGs) of this server: {@link io.cairn.dataserver.pg.PgLoop} holds those of
 * one event loop and the cluster map they live by, {@link io.cairn.dataserver.pg.PgSlot} joins one
 * replica to its disk and to the other members. Requests come from {@code service} and maps from
 * {@code mdslink}; operations go down to {@code replication}, from there to the store and to other
 * servers, and what became durable comes back through {@link io.cairn.dataserver.pg.DurableInbox}.
 * Everything of a PG happens on the one event loop that owns it; disks and connections only hand
 * over to it.
 */
@NullMarked
package io.cairn.dataserver.pg;

import org.jspecify.annotations.NullMarked;
