package io.cairn.dataserver.replication;

import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.AnsweredFormat;
import io.cairn.dataserver.chunk.PgLogState.Answered;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.List;

/**
 * The actions of a {@link PgReplica} by which a learner gets what it lacks, at the primary and at
 * the learner. Called and answered as those of {@link PgOutputs}.
 */
public interface RecoveryOutputs {
    /** How one step ended, told to the PG's owner; exactly one method is called, once, later. */
    interface Step {
        void done();

        void failed(RpcStatus status);
    }

    /**
     * Where a learner's history begins anew.
     *
     * @param number see {@link Copy}
     * @param distrusted whether nothing counts of what it has: whoever is the primary copies all
     */
    record Reset(
            long number, long epoch, long sequence, List<Answered> answered, boolean distrusted) {
        public Reset {
            answered = List.copyOf(answered);
        }

        /** Whether the log of a learner takes so many answered numbers. */
        public boolean fits() {
            return AnsweredFormat.fits(answered);
        }
    }

    /**
     * One attempt to bring a chunk, or an inode as a whole ({@link Key#INODE}), to a learner.
     *
     * @param number counts the steps of this primary in its epoch: what comes late, after another
     *     step has begun, is void
     * @param piece counts the messages of this attempt from 0
     * @param position sequence up to which the content has everything of this chunk; the primary
     *     admits nothing more for it before the attempt has ended
     */
    record Copy(long number, int piece, long position, long inode, int chunk) {}

    /**
     * What the learner has of a chunk that is copied: the rest need not be sent.
     *
     * @param completeSequence it has everything up to this operation
     * @param lengthBytes of the chunk there
     */
    record Base(long completeSequence, int lengthBytes) {}

    // ---- at the primary -----------------------------------------------------------------------

    /**
     * Reads own entries after the sequence, a few MiB at most, for a learner. {@link
     * PgReplica#onEntriesFor} follows, with none if the log does not reach back so far.
     */
    void readEntriesFor(int disk, long pgEpoch, long after);

    /**
     * So many bytes of an operation that the learner has missed were sent to it: for the meters.
     */
    default void sentMissed(int bytes) {}

    /**
     * Asks a learner what it has; steps of lower numbers that have not reached it are void then.
     * {@link PgReplica#onLearnerHistory} follows, or nothing.
     *
     * @param number see {@link Copy}
     * @param shared before it answers it drops the operations after this one that it does not know
     *     committed
     */
    void sendAsk(int disk, long pgEpoch, long number, long shared);

    /** The learner is to begin anew: {@link PgReplica#onReset} there. */
    void sendReset(int disk, long pgEpoch, Reset reset, Step step);

    /**
     * {@link PgReplica#onOwnContent} follows, or nothing.
     *
     * @param number of the page, see {@link Copy}
     */
    void listContent(long pgEpoch, long number, Key after);

    /**
     * {@link PgReplica#onPeerContent} follows, or nothing. What is up to the key has been compared,
     * and copied.
     */
    void sendListContent(int disk, long pgEpoch, long number, Key after);

    /**
     * Whether a copy to the disk may begin now. If not, it is asked again at the next tick:
     * meanwhile nothing waits for the copy.
     */
    boolean mayCopy(int disk);

    /** Whether a learner may be asked to join now. If not, it follows meanwhile. */
    default boolean mayJoin() {
        return true;
    }

    /**
     * Reads what there is here, which may be nothing, and sends it: {@link PgReplica#onCopy}. The
     * step has to end within a second or two, for operations on the chunk wait for it.
     */
    void copy(int disk, long pgEpoch, Copy copy, Base base, Step step);

    /**
     * The learner has all content: {@link PgReplica#onCompleted} there.
     *
     * @param number see {@link Copy}
     */
    void sendCompleted(int disk, long pgEpoch, long number, Step step);

    /**
     * Asks the metadata service to take the learner into the in-sync set, if the PG is in this
     * epoch still. A new epoch follows whatever it decides, or nothing: then it is asked again.
     */
    void askToJoin(int disk, long pgEpoch);

    // ---- at the learner -----------------------------------------------------------------------

    /** See {@link io.cairn.dataserver.store.DiskStore#firstMerge}. */
    default long firstMerge() {
        return 0;
    }

    /** See {@link io.cairn.dataserver.store.DiskStore}: durable when the step is done. */
    void reset(Reset reset, Step step);

    /** What is up to the key is what the history says; nobody waits for it to be durable. */
    void copiedTo(Key key);

    /** The content is what the history says, from now on. */
    void completed(Step step);
}
