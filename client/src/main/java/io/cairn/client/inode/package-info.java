/** What this client knows of inodes it has open, and the order of operations on each. */
@NullMarked
package io.cairn.client.inode;

import org.jspecify.annotations.NullMarked;
