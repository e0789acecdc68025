/**
 * Leadership of the group: whether this member leads, whether it may answer, and how entries get
 * into the log.
 *
 * <p>The log reports elections to {@link io.cairn.mds.leader.Leadership}, and requests ask there
 * before they are answered. {@link io.cairn.mds.leader.EntryLog} stamps entries with the leader's
 * clock and hands them down to {@code raft}. {@link io.cairn.mds.leader.LeaseKeeper} pings the
 * other members to renew the leader's lease.
 *
 * <p>Threads: {@link io.cairn.mds.leader.Control} is the control thread, which runs the leader's
 * background work; leadership and log may be called on any thread.
 */
@NullMarked
package io.cairn.mds.leader;

import org.jspecify.annotations.NullMarked;
