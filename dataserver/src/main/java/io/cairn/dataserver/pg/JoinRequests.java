package io.cairn.dataserver.pg;

/** The way by which a primary asks the metadata service for a learner. Any thread. */
@FunctionalInterface
public interface JoinRequests {
    /**
     * Sends the request once; whether it was granted is seen in the map.
     *
     * @param pgEpoch the PG's, in which the learner has everything acknowledged
     * @param disk the learner's
     */
    void ask(int pg, long pgEpoch, int disk);
}
