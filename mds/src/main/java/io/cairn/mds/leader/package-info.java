/**
 * Whether this member leads the group and may answer, and the way of every entry into the log.
 *
 * <p>The log tells {@link io.cairn.mds.leader.Leadership} of elections; every request asks it
 * before it answers. {@link io.cairn.mds.leader.EntryLog} stamps entries with the leader's clock
 * and hands them to the log. {@link io.cairn.mds.leader.LeaseKeeper} asks the other members whether
 * they are still in this leader's term.
 *
 * <p>Threads: {@link io.cairn.mds.leader.Control} is the one thread on which a leader does
 * everything that no request asks of it; leadership and log may be called on any thread.
 */
@NullMarked
package io.cairn.mds.leader;

import org.jspecify.annotations.NullMarked;
