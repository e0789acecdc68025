/**
 * Names in directories that this client has made and nobody else has seen: made, removed and looked
 * up without waiting for the MDS. Knows nothing of open files.
 */
@NullMarked
package io.cairn.client.name;

import org.jspecify.annotations.NullMarked;
