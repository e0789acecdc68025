/**
 * What every part of Cairn stands on: the wire, the formats of data operations, configuration,
 * metrics, RocksDB, and the small things that two modules need. The rooms know nothing of metadata
 * servers, data servers or mounts: parts call in, and answers and events go back through callbacks.
 * {@code rpc} and {@code rocks} stand on the others; {@code errno}, {@code config} and {@code
 * posix} stand on none. Each room says which threads it may be called on; only {@code rpc}, {@code
 * rocks} and {@code jmx} have threads of their own.
 */
@NullMarked
package io.cairn.common;

import org.jspecify.annotations.NullMarked;
