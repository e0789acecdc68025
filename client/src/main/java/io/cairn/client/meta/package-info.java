/**
 * The session with the metadata service, and the next one when it ends: its leader, numbered
 * mutations, queries, renewal and lease. Requests go down to the leader's channel in the order of
 * their numbers, answers complete futures on the way back, and what the leader did not answer is
 * sent to the next one. Any thread; one lock guards the session and all it carries, channels are
 * called under it, and futures complete outside of it.
 */
@NullMarked
package io.cairn.client.meta;

import org.jspecify.annotations.NullMarked;
