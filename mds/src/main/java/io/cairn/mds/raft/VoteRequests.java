package io.cairn.mds.raft;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;

/**
 * Asks a member for its vote again while the election lasts. Ratis asks once: where the request is
 * lost, or meets a connection that ended with the member's last process, the election is lost too,
 * and another begins after 0.5 to 2 s. To ask twice is to ask once: a member gives its vote of a
 * term to one candidate, as often as that asks. Any thread; Ratis has one for each member, and
 * interrupts it when the election is over.
 *
 * <p>A member that is slow is not lost: it is asked over another connection as well, and the first
 * answer counts.
 */
final class VoteRequests {
    /** On a connection that fails: the first may have ended long ago, unnoticed. */
    private static final int TRIES = 3;

    /** After a follower has refused because it has heard the leader shortly before. */
    private static final int REFUSALS = 3;

    private final Way first;
    private final Way second;
    private final Times times;

    /** A connection to the members. */
    @FunctionalInterface
    interface Way {
        /**
         * Asks once.
         *
         * @param over whether nobody waits for the answer any more
         */
        RequestVoteReplyProto ask(RequestVoteRequestProto request, BooleanSupplier over)
                throws IOException;
    }

    /**
     * @param lostMillis without an answer for so long, the second way is taken too
     * @param refusedMillis after a refusal that may pass
     */
    record Times(long lostMillis, long refusedMillis) {
        /**
         * Longer than a vote takes that has to be synced first, and a part of the shortest election
         * timeout; heartbeats come every 250 ms, so that followers have heard the leader at moments
         * that differ by no more.
         */
        static final Times DEFAULT = new Times(200, 100);
    }

    /**
     * @param first is interrupted when the election is over
     * @param second makes a new connection each time; not interrupted
     */
    VoteRequests(Way first, Way second, Times times) {
        this.first = first;
        this.second = second;
        this.times = times;
    }

    /**
     * @throws IOException if it is certain that no answer comes, or this thread is interrupted
     */
    RequestVoteReplyProto ask(RequestVoteRequestProto request) throws IOException {
        RequestVoteReplyProto answer = new Question(request).answer();
        for (int i = 0; i < REFUSALS && mayPass(request, answer); i++) {
            pause(times.refusedMillis);
            answer = new Question(request).answer();
        }
        return answer;
    }

    /**
     * Before an election, a follower refuses that has heard the leader within the shortest election
     * timeout, and that may have been a moment after the candidate. If the leader says nothing,
     * Ratis would wait for it as long as an election may last, and then ask again.
     */
    private static boolean mayPass(RequestVoteRequestProto request, RequestVoteReplyProto answer) {
        return request.getPreVote()
                && !answer.getServerReply().getSuccess()
                && !answer.getShouldShutdown()
                && answer.getTerm() <= request.getCandidateTerm();
    }

    private static void pause(long millis) throws InterruptedIOException {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(millis));
        if (Thread.currentThread().isInterrupted()) {
            throw ended();
        }
    }

    private static InterruptedIOException ended() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("the election is over");
    }

    /** One vote that is asked for. */
    private final class Question {
        private final RequestVoteRequestProto request;
        private final CompletableFuture<RequestVoteReplyProto> answer = new CompletableFuture<>();

        /** Ways from which an answer may still come. */
        private int open;

        Question(RequestVoteRequestProto request) {
            this.request = request;
        }

        RequestVoteReplyProto answer() throws IOException {
            Thread asking = begin(() -> repeated(first));
            try {
                try {
                    return answer.get(times.lostMillis, TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    var _ = begin(() -> second.ask(request, answer::isDone));
                }
                return answer.get();
            } catch (InterruptedException e) {
                throw ended();
            } catch (ExecutionException e) {
                throw new IOException(String.valueOf(e.getCause()), e.getCause());
            } finally {
                answer.cancel(false);
                asking.interrupt();
            }
        }

        private Thread begin(Asking way) {
            synchronized (this) {
                open++;
            }
            return Thread.ofVirtual()
                    .name("mds-raft-vote")
                    .start(() -> {
                        try {
                            answer.complete(way.ask());
                        } catch (IOException | RuntimeException e) {
                            failed(e);
                        }
                    });
        }

        private synchronized void failed(Exception e) {
            open--;
            if (open == 0) {
                answer.completeExceptionally(e);
            }
        }

        private RequestVoteReplyProto repeated(Way way) throws IOException {
            for (int left = TRIES - 1; ; left--) {
                try {
                    return way.ask(request, answer::isDone);
                } catch (ConnectException e) {
                    throw e; // its process is not there
                } catch (IOException e) {
                    if (left == 0 || answer.isDone()) {
                        throw e;
                    }
                }
            }
        }
    }

    private interface Asking {
        RequestVoteReplyProto ask() throws IOException;
    }
}
