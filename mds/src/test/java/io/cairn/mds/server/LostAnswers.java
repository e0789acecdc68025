package io.cairn.mds.server;

import static org.awaitility.Awaitility.await;

import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.mds.server.TestGroup.Answer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/**
 * As long as it is open, mutations are executed and the client gets no answer. Whoever leads: a
 * thief stands before each member.
 */
final class LostAnswers implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final TestGroup group;
    private final List<ReplyThief> thieves = new ArrayList<>();
    private final List<CompletableFuture<Answer<MutateReply>>> sent = new ArrayList<>();

    LostAnswers(TestGroup group, int members) throws IOException {
        this.group = group;
        for (int id = 1; id <= members; id++) {
            ReplyThief thief = new ReplyThief(group.address(id), Integer.MAX_VALUE, () -> {});
            thieves.add(thief);
            group.route(id, thief.address());
        }
    }

    /** Has them executed one after the other; returns what the client should have been told. */
    List<MutateReply> execute(TestSession session, List<MutateRequest> batches) {
        return batches.stream()
                .map(batch ->
                        await().pollInSameThread()
                                .atMost(PATIENCE)
                                .pollInterval(Duration.ofMillis(10))
                                .until(() -> attempt(session, batch), Optional::isPresent)
                                .orElseThrow())
                .toList();
    }

    /** Empty where it was refused, as by a member that does not lead any more. */
    private Optional<MutateReply> attempt(TestSession session, MutateRequest batch) {
        var answer = session.send(MemberCommands.leader(group), batch);
        sent.add(answer);
        await().pollDelay(Duration.ZERO)
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> answer.isDone() || taken(batch).isPresent());
        return taken(batch);
    }

    private Optional<MutateReply> taken(MutateRequest batch) {
        return thieves.stream()
                .flatMap(thief -> Stream.ofNullable(thief.taken.get(batch.getFirstNumber())))
                .findFirst();
    }

    /** Whether the client has got one of the answers all the same. */
    boolean told() {
        return sent.stream().anyMatch(answer -> answer.isDone() && answer.join().status().ok());
    }

    @Override
    public void close() throws IOException {
        for (int i = 0; i < thieves.size(); i++) {
            group.routeDirectly(i + 1);
            thieves.get(i).close();
        }
    }
}
