/**
 * What every room of the client stands on: steps on futures, meters, and the connections as the
 * rooms see them. Data does not stop here: the rooms above call in, and nothing here calls up. Any
 * thread; nothing here has one of its own.
 */
@NullMarked
package io.cairn.client.base;

import org.jspecify.annotations.NullMarked;
