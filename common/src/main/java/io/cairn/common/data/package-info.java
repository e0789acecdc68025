/**
 * The messages of the data path as bytes: operations, answers to reads, deletions and truncations
 * of inodes, checksums of blocks. A client encodes what a data server decodes, and the log keeps
 * the same bytes. Stateless, but for the buffers that callers bring.
 */
@NullMarked
package io.cairn.common.data;

import org.jspecify.annotations.NullMarked;
