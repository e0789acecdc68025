/**
 * What is read of a file before its reader asks: where a handle's reads go on in order, how far
 * ahead of them to read, and the bytes until they are asked for or dropped. {@code inode} tells it
 * of reads and of all that makes bytes old, and fetches for it; nothing here sends or waits. Any
 * thread; each handle is guarded by one monitor, under which nothing outside is called but the
 * memory's and the meters' counters.
 */
@NullMarked
package io.cairn.client.ahead;

import org.jspecify.annotations.NullMarked;
