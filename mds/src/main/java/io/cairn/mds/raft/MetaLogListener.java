package io.cairn.mds.raft;

import java.util.Set;

/**
 * Events of this member. Called on Raft's own threads: must not block, and must not call {@link
 * MetaLog#close}.
 */
public interface MetaLogListener {
    /**
     * This member leads, and every entry of earlier terms is applied here.
     *
     * @param term the term it leads in
     */
    void becameLeader(long term);

    /** This member no longer leads; may come without {@link #becameLeader} before it. */
    void lostLeadership();

    /** The leader the group has now, by member id. */
    void leaderChanged(int leader);

    /**
     * A configuration of the group was applied; comes before {@link #becameLeader} for all of
     * earlier terms.
     *
     * @param voters by member id; empty while a change is being made, and where a checkpoint took
     *     the place of entries: there may have been others in them
     */
    void configured(Set<Integer> voters);

    /**
     * The log or the state cannot go on: nothing may be acknowledged any more and the process has
     * to stop. Called at least once, possibly from several threads.
     */
    void failed(String reason, Throwable cause);
}
