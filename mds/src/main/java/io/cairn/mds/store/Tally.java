package io.cairn.mds.store;

/** The counters while an entry changes them; the applying thread only. */
public final class Tally {
    public long inodesUsed;
    public long bytesUsed;
    public long deletionInodes;
    public long deletionBytes;
    public long deletionHead;
    public long nextDeletion;
    public long maxInode;
    public long maxSession;
    public long mapEpoch;

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
