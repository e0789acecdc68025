/**
 * RocksDB as Cairn uses it: without its own write-ahead log, one column family, options from named
 * presets that are verified after opening, memory shared by all databases of a process, and
 * checkpoints that also work when a database is on a fast and a slow device. Stores write and read
 * through {@code RocksDatabase} on threads of their own; an administrator's requests come in by
 * {@code DatabaseService}; a watching thread and, at times, a compacting one belong to each
 * database.
 */
@NullMarked
package io.cairn.common.rocks;

import org.jspecify.annotations.NullMarked;
