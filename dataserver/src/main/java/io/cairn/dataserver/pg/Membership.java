package io.cairn.dataserver.pg;

/**
 * What a primary tells the metadata service of a placement group's members. Each is sent once;
 * whether it had an effect is seen in the map. Any thread.
 */
public interface Membership {
    /**
     * The learner has everything acknowledged, and may join.
     *
     * @param pgEpoch of the PG, as for all
     */
    void askToJoin(int pg, long pgEpoch, int disk);

    /** The PG waits for the member, which says nothing. */
    void memberSilent(int pg, long pgEpoch, int disk);
}
