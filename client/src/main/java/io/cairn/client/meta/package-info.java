/** The session with the metadata service: leader, numbered mutations, queries, renewal. */
@NullMarked
package io.cairn.client.meta;

import org.jspecify.annotations.NullMarked;
