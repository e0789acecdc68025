package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.apache.ratis.proto.RaftProtos.RaftRpcReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class VoteRequestsTest {
    /** Longer than the test. */
    private static final long NEVER = 3_600_000;

    private static final VoteRequests.Times AT_ONCE = new VoteRequests.Times(1, 1);
    private static final VoteRequests.Times PATIENT = new VoteRequests.Times(NEVER, 1);

    private final AtomicInteger asked = new AtomicInteger();
    private final AtomicInteger askedAnew = new AtomicInteger();
    private final CountDownLatch interrupted = new CountDownLatch(1);

    @Test
    void aVoteThatIsLostIsAskedForAgain() throws Exception {
        assertThat(votes(this::silent, anew(true), AT_ONCE).ask(election())).isEqualTo(vote(true));
        assertThat(askedAnew).hasValue(1);
        interrupted.await(); // nobody waits for the first
    }

    @Test
    void aConnectionThatHadEndedIsMadeAgain() throws Exception {
        VoteRequests.Way stale =
                (request, over) -> {
                    if (asked.incrementAndGet() < 3) {
                        throw new IOException("closed");
                    }
                    return vote(true);
                };
        assertThat(votes(stale, anew(false), PATIENT).ask(election())).isEqualTo(vote(true));
        assertThat(askedAnew).hasValue(0);
    }

    @Test
    void whoseProcessIsNotThereIsAskedOnce() {
        VoteRequests.Way refused =
                (request, over) -> {
                    asked.incrementAndGet();
                    throw new ConnectException("refused");
                };
        assertThatThrownBy(() -> votes(refused, anew(true), PATIENT).ask(election()))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("refused");
        assertThat(asked).hasValue(1);
    }

    @Test
    void whoAnswersNothingButFailuresIsGivenUp() {
        VoteRequests.Way broken =
                (request, over) -> {
                    asked.incrementAndGet();
                    throw new IOException("broken");
                };
        assertThatThrownBy(() -> votes(broken, anew(true), PATIENT).ask(election()))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("broken");
        assertThat(asked).hasValue(3);
    }

    @Test
    void whoIsSlowIsWaitedForAlthoughItIsAskedAgain() throws Exception {
        CountDownLatch again = new CountDownLatch(1);
        VoteRequests.Way slow =
                (request, over) -> {
                    awaited(again);
                    return vote(true);
                };
        VoteRequests.Way failing =
                (request, over) -> {
                    again.countDown();
                    throw new IOException("no second connection");
                };
        assertThat(votes(slow, failing, AT_ONCE).ask(election())).isEqualTo(vote(true));
    }

    @Test
    void itEndsWithTheElection() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<Boolean> wanted = new CompletableFuture<>();
        VoteRequests.Way late =
                (request, over) -> {
                    begun.countDown();
                    awaited(interrupted);
                    wanted.complete(!over.getAsBoolean());
                    return vote(true);
                };
        CompletableFuture<Throwable> ended = new CompletableFuture<>();
        Thread election =
                Thread.startVirtualThread(() -> {
                    try {
                        votes(this::silent, late, AT_ONCE).ask(election());
                        ended.complete(new AssertionError("there is an answer"));
                    } catch (IOException e) {
                        ended.complete(e);
                    }
                });
        begun.await();
        election.interrupt();
        assertThat(ended.get()).isInstanceOf(InterruptedIOException.class);
        interrupted.await();
        assertThat(wanted.get()).isFalse();
    }

    @Test
    void aFollowerThatHasJustHeardTheLeaderIsAskedAgainBeforeAnElection() throws Exception {
        assertThat(votes(refusing(2), anew(true), PATIENT).ask(before())).isEqualTo(vote(true));
        assertThat(asked).hasValue(3);
    }

    @Test
    void whoGoesOnRefusingIsTakenAtItsWord() throws Exception {
        assertThat(votes(refusing(9), anew(true), PATIENT).ask(before())).isEqualTo(vote(false));
        assertThat(asked).hasValue(4);
    }

    @Test
    void aVoteThatWasGivenToAnotherIsNotAskedForAgain() throws Exception {
        assertThat(votes(refusing(9), anew(true), PATIENT).ask(election())).isEqualTo(vote(false));
        assertThat(asked).hasValue(1);
    }

    private static VoteRequests votes(
            VoteRequests.Way first, VoteRequests.Way second, VoteRequests.Times times) {
        return new VoteRequests(first, second, times);
    }

    private VoteRequests.Way anew(boolean given) {
        return (request, over) -> {
            askedAnew.incrementAndGet();
            return vote(given);
        };
    }

    private VoteRequests.Way refusing(int times) {
        return (request, over) -> vote(asked.incrementAndGet() > times);
    }

    /** Never answers. */
    private RequestVoteReplyProto silent(RequestVoteRequestProto request, BooleanSupplier over)
            throws IOException {
        try {
            return new CompletableFuture<RequestVoteReplyProto>().get();
        } catch (InterruptedException | ExecutionException e) {
            interrupted.countDown();
            throw new InterruptedIOException();
        }
    }

    private static void awaited(CountDownLatch latch) throws IOException {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new InterruptedIOException();
        }
    }

    private static RequestVoteRequestProto election() {
        return RequestVoteRequestProto.newBuilder().setCandidateTerm(7).build();
    }

    /** Whether there should be one. */
    private static RequestVoteRequestProto before() {
        return election().toBuilder().setPreVote(true).build();
    }

    private static RequestVoteReplyProto vote(boolean given) {
        return RequestVoteReplyProto.newBuilder()
                .setServerReply(RaftRpcReplyProto.newBuilder().setSuccess(given))
                .setTerm(7)
                .build();
    }
}
