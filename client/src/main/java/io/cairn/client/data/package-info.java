/** The data path: pieces of files sent to the primaries of their placement groups. */
@NullMarked
package io.cairn.client.data;

import org.jspecify.annotations.NullMarked;
