package io.cairn.client.meta;

import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The mutations of a session in their order: first without a number, waiting; then numbered, in a
 * batch, outstanding until answered. A batch keeps its numbers and its members for ever, so that it
 * can be sent again after a reconnect. The numbers begin anew with each session. Not thread-safe:
 * guarded by the session's lock.
 */
final class MutationQueue {
    /** Mutations with consecutive numbers that travel in one request. */
    static final class Batch {
        private final long firstNumber;
        private final List<PendingMutation> mutations;

        /** The session it was sent in, and how often; 0 before. */
        long session;

        int attempts;

        /** An attempt has not ended yet. */
        boolean inFlight;

        /** Refused at the first attempt, so neither it nor one behind it was executed. */
        boolean neverExecuted;

        /** Answers that were none. */
        int misunderstood;

        Batch(long firstNumber, List<PendingMutation> mutations) {
            this.firstNumber = firstNumber;
            this.mutations = mutations;
        }

        long firstNumber() {
            return firstNumber;
        }

        List<PendingMutation> mutations() {
            return mutations;
        }

        MutateRequest request(long session, long ackedBelow) {
            MutateRequest.Builder request =
                    MutateRequest.newBuilder()
                            .setSession(session)
                            .setFirstNumber(firstNumber)
                            .setAckedBelow(ackedBelow);
            mutations.forEach(m -> request.addMutations(m.mutation()));
            return request.build();
        }
    }

    /** Of mutations that wait, for one that another one can be merged into. */
    private static final int MAX_LOOKS = 16;

    private final int maxBatch;
    private final int maxBatchBytes;
    private final ArrayDeque<PendingMutation> waiting = new ArrayDeque<>();
    private final ArrayDeque<Batch> outstanding = new ArrayDeque<>();
    private long nextNumber = 1;

    MutationQueue(int maxBatch, int maxBatchBytes) {
        this.maxBatch = maxBatch;
        this.maxBatchBytes = maxBatchBytes;
    }

    void add(PendingMutation mutation) {
        waiting.add(mutation);
    }

    /**
     * Adds a change of attributes that nobody waits for to one that waits, if there is one with
     * nothing in between that concerns the same file.
     *
     * @return false where it has to be added by itself
     */
    boolean merge(PendingMutation change) {
        long inode = change.mutation().getSetAttr().getInode();
        int looked = 0;
        for (Iterator<PendingMutation> i = waiting.descendingIterator(); i.hasNext(); ) {
            PendingMutation last = i.next();
            if (last.merge(change)) {
                return true;
            }
            if (++looked == MAX_LOOKS || !isOfAnother(last.mutation(), inode)) {
                return false;
            }
        }
        return false;
    }

    /** For certain. */
    private static boolean isOfAnother(Mutation m, long inode) {
        return switch (m.getOpCase()) {
            case CREATE, MKDIR, SYMLINK, MKNOD -> m.getOwnInode() != 0 && m.getOwnInode() != inode;
            case SET_ATTR -> m.getSetAttr().getInode() != inode;
            case GROW -> m.getGrow().getInode() != inode;
            case RELEASE -> m.getRelease().getInode() != inode;
            default -> false;
        };
    }

    /** Numbers what waits and returns it as an outstanding batch; null when nothing waits. */
    @Nullable Batch nextBatch() {
        List<PendingMutation> members = new ArrayList<>();
        int bytes = 0;
        while (members.size() < maxBatch) {
            PendingMutation next = waiting.peek();
            if (next == null) {
                break;
            }
            bytes += next.mutation().getSerializedSize();
            if (!members.isEmpty() && bytes > maxBatchBytes) {
                break;
            }
            members.add(waiting.remove());
        }
        if (members.isEmpty()) {
            return null;
        }
        Batch batch = new Batch(nextNumber, List.copyOf(members));
        nextNumber += members.size();
        outstanding.add(batch);
        return batch;
    }

    /** Batches without an answer, in the order of their numbers. */
    Collection<Batch> outstanding() {
        return outstanding;
    }

    /** False when it was answered before: requests repeated are answered twice. */
    boolean answered(Batch batch) {
        return outstanding.remove(batch);
    }

    /** The lowest number without an answer. */
    long ackedBelow() {
        Batch oldest = outstanding.peek();
        return oldest == null ? nextNumber : oldest.firstNumber;
    }

    /** Takes out those without a number that the test accepts. */
    List<PendingMutation> dropWaiting(Predicate<PendingMutation> test) {
        List<PendingMutation> dropped = new ArrayList<>();
        for (Iterator<PendingMutation> i = waiting.iterator(); i.hasNext(); ) {
            PendingMutation m = i.next();
            if (test.test(m)) {
                i.remove();
                dropped.add(m);
            }
        }
        return dropped;
    }

    /** Puts these in front of those that wait, in their order. */
    void carry(List<PendingMutation> mutations) {
        mutations.reversed().forEach(waiting::addFirst);
    }

    /** A new session: forgets what is outstanding; numbers begin with 1. */
    void startOver() {
        outstanding.clear();
        nextNumber = 1;
    }

    /** Takes out everything: the client ends. */
    List<PendingMutation> clear() {
        List<PendingMutation> all = new ArrayList<>();
        outstanding.forEach(b -> all.addAll(b.mutations));
        all.addAll(waiting);
        outstanding.clear();
        waiting.clear();
        return all;
    }

    int depth() {
        int depth = waiting.size();
        for (Batch b : outstanding) {
            depth += b.mutations.size();
        }
        return depth;
    }
}
