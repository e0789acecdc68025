package io.cairn.mds.namespace;

/** The counters while an entry changes them; the applying thread only. */
final class Tally {
    long inodesUsed;
    long bytesUsed;
    long deletionInodes;
    long deletionBytes;
    long deletionHead;
    long nextDeletion;
    long maxInode;
    long maxSession;
    long mapEpoch;

    Tally(Counters from) {
        inodesUsed = from.inodesUsed();
        bytesUsed = from.bytesUsed();
        deletionInodes = from.deletionInodes();
        deletionBytes = from.deletionBytes();
        deletionHead = from.deletionHead();
        nextDeletion = from.nextDeletion();
        maxInode = from.maxInode();
        maxSession = from.maxSession();
        mapEpoch = from.mapEpoch();
    }

    Counters counters() {
        return new Counters(
                inodesUsed,
                bytesUsed,
                deletionInodes,
                deletionBytes,
                deletionHead,
                nextDeletion,
                maxInode,
                maxSession,
                mapEpoch);
    }
}
