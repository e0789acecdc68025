package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.SessionStatus;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rpc.Advice;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.MetaKeys;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.WriteBatch;

/** Sessions that hold many files open end by and by, whoever leads. */
final class SessionEndsTest {
    private static final String SETTINGS =
            "[raft]\nleader_lease = \"600ms\"\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir Path directory;

    /** Open, and without a name. */
    private static void makeOpenFiles(TestSession session, int files) {
        mutateAll(session, files, i -> TestSession.create("f" + i, true));
        mutateAll(session, files, i -> TestSession.unlink("f" + i));
    }

    private static void mutateAll(
            TestSession session, int number, IntFunction<Mutation> mutations) {
        for (int from = 0; from < number; from += 1000) {
            Mutation[] batch =
                    IntStream.range(from, Math.min(number, from + 1000))
                            .mapToObj(mutations)
                            .toArray(Mutation[]::new);
            session.mutate(
                            session.batch(session.next, batch).toBuilder()
                                    .setAckedBelow(session.next)
                                    .build())
                    .get();
            session.next += batch.length;
        }
    }

    private static void closeSession(TestSession session) {
        session.group
                .call(
                        Method.CLOSE_SESSION,
                        CloseSessionRequest.newBuilder().setSession(session.id()).build(),
                        CloseSessionReply.parser())
                .get();
    }

    /** Nothing left of it, and everything it held queued for deletion. */
    private static void awaitEnd(TestSession session, int files) {
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(session.group.status().getSessionsList())
                                .extracting(SessionStatus::getSession)
                                .doesNotContain(session.id()));
        // Files without a name are freed by entries of their own.
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(session.group.status().getDeletionBacklogInodes())
                                .isEqualTo(files));
        assertThat(session.group.fatal).hasNullValue();
    }

    @Test
    void theNextLeaderGoesOnWithASessionThatIsEnding() throws Exception {
        int files = 10_000;
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            int leader = group.awaitServing();
            TestSession session = new TestSession(group);
            makeOpenFiles(session, files);
            closeSession(session);
            group.stop(leader);
            assertThat(session.renew().status().advice()).isEqualTo(Advice.FENCED);
            awaitEnd(session, files);
        }
    }

    /** As a leader leaves it that dies behind the first slice. */
    @Test
    void soDoesALeaderThatStartsAgain() throws Exception {
        int files = 2_500;
        try (TestGroup group = new TestGroup(directory, 1, SETTINGS)) {
            TestSession session = new TestSession(group);
            makeOpenFiles(session, files);
            group.stop(1);
            markEnding(group.config(1), session.id());
            group.start(1);
            awaitEnd(session, files);
        }
    }

    private static void markEnding(MdsConfig config, long session) throws Exception {
        try (RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(32));
                RocksDatabase rocks =
                        RocksDatabase.open(
                                config.dataDir().resolve("namespace/current"),
                                "metadata",
                                config.rocksdb(),
                                memory,
                                Meters.unpublished(),
                                reason -> {
                                    throw new AssertionError(reason);
                                });
                WriteBatch batch = new WriteBatch()) {
            byte[] key = MetaKeys.of(MetaKeys.SESSION, session);
            SessionRecord record = SessionRecord.parseFrom(rocks.db().get(key));
            for (long n = record.getAckedBelow(); n <= record.getLastNumber(); n++) {
                batch.delete(MetaKeys.of(MetaKeys.ANSWER, session, n));
            }
            batch.delete(MetaKeys.of(MetaKeys.SESSION_OF, record.getClientUuid()));
            batch.put(
                    key,
                    record.toBuilder()
                            .setEnding(true)
                            .setAckedBelow(record.getLastNumber() + 1)
                            .build()
                            .toByteArray());
            rocks.write(batch);
            rocks.flush();
        }
    }
}
