/**
 * Where a byte of a file lies: layout, chunk, offset in the chunk, placement group. Pure functions,
 * used alike by clients and servers. Any thread.
 */
@NullMarked
package io.cairn.common.layout;

import org.jspecify.annotations.NullMarked;
