/**
 * What a user of the client sees: the file system by inode id, open files, and the configuration.
 * Calls come in through {@link io.cairn.client.api.CairnClient} and their futures carry the answers
 * back. Any thread calls; futures complete on the client's event loops or its timer.
 */
@NullMarked
package io.cairn.client.api;

import org.jspecify.annotations.NullMarked;
