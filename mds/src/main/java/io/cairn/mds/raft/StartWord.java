package io.cairn.mds.raft;

/**
 * What the administrator says of an empty directory. Without that word a member with such a
 * directory does not start: it cannot tell a new cluster from a directory that was lost, and a
 * member that has forgotten what it acknowledged must not vote.
 */
public enum StartWord {
    /** No option: the directory holds a member. */
    NONE,

    /** All members begin with nothing. */
    NEW_CLUSTER,

    /** The group exists, and this member has lost what it had of it, or never had anything. */
    JOIN
}
