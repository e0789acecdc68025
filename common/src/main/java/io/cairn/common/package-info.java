/**
 * What every part of Cairn stands on: the wire, the formats of data operations, configuration,
 * metrics, RocksDB, and the small things that two modules need. The rooms know nothing of metadata
 * servers, data servers or mounts. {@code rpc} and {@code rocks} stand on the others; {@code
 * errno}, {@code time} and {@code posix} stand on none.
 */
@NullMarked
package io.cairn.common;

import org.jspecify.annotations.NullMarked;
