package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.rpc.Advice;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.server.TestGroup.Answer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Mutations of every kind are executed once and always answered alike: sent twice, or repeated
 * after the server was killed between commit and reply.
 */
final class ExactlyOnceTest {
    private static final long SEED = TestSeed.of("ExactlyOnceTest");
    private static final String NO_SPACE_LIMITS =
            """
            [raft]
            soft_space_limit = "0B"
            hard_space_limit = "0B"
            """;

    @TempDir Path directory;

    @Test
    void killedBetweenCommitAndReplyTheServerAnswersAsBefore() throws Exception {
        Random random = new Random(SEED);
        try (TestGroup group = TestGroup.ofOneProcess(directory, NO_SPACE_LIMITS)) {
            group.launch(1);
            TestSession session = new TestSession(group);

            // All are committed and none is answered.
            EveryKind all = new EveryKind(session, "all-");
            List<MutateRequest> single = all.single(session);
            String before = killAfter(group, single, single.size());
            repeat(session, single);
            assertThat(RootText.of(group)).isEqualTo(before);

            // Some are answered, some committed, some not.
            EveryKind some = new EveryKind(session, "some-");
            List<MutateRequest> others = some.single(session);
            killAfter(group, others, 1 + random.nextInt(others.size() - 1));
            repeat(session, others);

            // All in one entry of the log.
            EveryKind one = new EveryKind(session, "one-");
            Mutation[] mutations = one.mutations().toArray(new Mutation[0]);
            List<MutateRequest> batch = List.of(session.batch(session.next, mutations));
            session.next += mutations.length;
            before = killAfter(group, batch, 1);
            repeat(session, batch);
            assertThat(RootText.of(group)).isEqualTo(before);
        }
    }

    private final List<MutateReply> stolen = new ArrayList<>();

    /**
     * Sends the batches, keeps the answers from the client, and kills the server when so many have
     * been given. Returns the state as it was before the kill where all have.
     */
    private String killAfter(TestGroup group, List<MutateRequest> batches, int answers)
            throws Exception {
        CountDownLatch given = new CountDownLatch(1);
        MdsProcess process = group.process(1);
        boolean all = answers == batches.size();
        String state = "";
        Map<Long, MutateReply> taken;
        try (ReplyThief thief =
                new ReplyThief(
                        group.address(1),
                        answers,
                        () -> {
                            if (!all) {
                                process.kill();
                            }
                            given.countDown();
                        })) {
            group.route(1, thief.address());
            List<CompletableFuture<Answer<MutateReply>>> sent = new ArrayList<>();
            for (MutateRequest batch : batches) {
                sent.add(group.send(1, Method.MUTATE, batch, MutateReply.parser()));
            }
            assertThat(given.await(60, TimeUnit.SECONDS)).isTrue();
            group.routeDirectly(1);
            if (all) {
                state = RootText.of(group);
                process.kill();
            }
            for (CompletableFuture<Answer<MutateReply>> answer : sent) {
                assertThat(answer.get(60, TimeUnit.SECONDS).status().ok()).isFalse();
            }
            taken = thief.taken;
        }
        stolen.clear();
        for (MutateRequest batch : batches) {
            stolen.add(
                    taken.getOrDefault(batch.getFirstNumber(), MutateReply.getDefaultInstance()));
        }
        assertThat(taken.size()).isGreaterThanOrEqualTo(answers);
        group.launch(1);
        return state;
    }

    /** As the client does it, twice; the first answers were stolen, or never given. */
    private void repeat(TestSession session, List<MutateRequest> batches) {
        for (int i = 0; i < batches.size(); i++) {
            MutateReply answer = session.mutate(batches.get(i)).get();
            if (stolen.get(i).getResultsCount() > 0) {
                assertThat(answer).isEqualTo(stolen.get(i));
            }
            boolean last = i == batches.size() - 1;
            assertSucceeded(answer.getResultsList(), last);
            assertThat(session.mutate(batches.get(i)).get()).isEqualTo(answer);
        }
    }

    /** Executed a second time, most would fail; the last of all fails the first time. */
    private static void assertSucceeded(List<MutationResult> results, boolean lastFails) {
        for (int i = 0; i < results.size(); i++) {
            boolean fails = lastFails && i == results.size() - 1;
            assertThat(Errno.of(results.get(i).getErrno()))
                    .isEqualTo(fails ? Errno.ENOENT : Errno.OK);
        }
    }

    @Test
    void sentTwiceEveryKindIsExecutedOnce() throws Exception {
        try (TestGroup group = new TestGroup(directory, 1, NO_SPACE_LIMITS)) {
            TestSession session = new TestSession(group);
            EveryKind kinds = new EveryKind(session, "");
            EnumSet<Mutation.OpCase> covered = EnumSet.of(Mutation.OpCase.OP_NOT_SET);
            kinds.mutations().forEach(m -> covered.add(m.getOpCase()));
            assertThat(covered).isEqualTo(EnumSet.allOf(Mutation.OpCase.class));

            List<MutateRequest> batches = kinds.single(session);
            List<CompletableFuture<Answer<MutateReply>>> sent = new ArrayList<>();
            for (MutateRequest batch : batches) {
                sent.add(session.send(1, batch));
                sent.add(session.send(1, batch));
            }
            List<MutateReply> answers = new ArrayList<>();
            for (int i = 0; i < batches.size(); i++) {
                MutateReply settled = session.mutate(batches.get(i)).get();
                for (int copy = 0; copy < 2; copy++) {
                    Answer<MutateReply> answer = sent.get(2 * i + copy).get(30, TimeUnit.SECONDS);
                    if (answer.status().ok()) {
                        assertThat(answer.get()).isEqualTo(settled);
                    } else {
                        assertThat(answer.status().advice()).isEqualTo(Advice.RETRY);
                    }
                }
                assertSucceeded(settled.getResultsList(), i == batches.size() - 1);
                answers.add(settled);
            }
            String state = RootText.of(group);
            for (int i = 0; i < batches.size(); i++) {
                assertThat(session.mutate(batches.get(i)).get()).isEqualTo(answers.get(i));
            }
            assertThat(RootText.of(group)).isEqualTo(state);
            // "file", "unlinked" and "created": an open and a release more change nothing.
            assertThat(group.status().getSessions(0).getOpenFiles()).isEqualTo(3);
        }
    }
}
