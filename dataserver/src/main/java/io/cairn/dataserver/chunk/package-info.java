/**
 * Where the bytes of a chunk are: the index in RocksDB ({@link
 * io.cairn.dataserver.chunk.ChunkIndex}) has what was flushed, the overlay in memory ({@link
 * io.cairn.dataserver.chunk.PgOverlay}) what is only in the write-ahead log. The store adds each
 * logged operation to the overlay, the flusher moves it to the index, and reads put the two
 * together. The index is read by any thread and changed by the flusher; an overlay is used under
 * the lock of its PG.
 */
@NullMarked
package io.cairn.dataserver.chunk;

import org.jspecify.annotations.NullMarked;
