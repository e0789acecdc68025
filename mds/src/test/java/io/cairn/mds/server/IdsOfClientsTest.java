package io.cairn.mds.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.CheckInodesReply;
import io.cairn.common.proto.CheckInodesRequest;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.IdRange;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.SessionStatus;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients that choose the ids of what they make, with a group of members that leads. */
final class IdsOfClientsTest {
    private static final int GROUPS = 16;
    private static final String SETTINGS =
            """
            [raft]
            leader_lease = "600ms"
            soft_space_limit = "2B"
            hard_space_limit = "1B"
            [pool]
            pg_count = 16
            [data_servers]
            lease = "10min"
            """;

    @TempDir Path directory;

    @SuppressWarnings("NullAway.Init")
    private TestGroup group;

    @SuppressWarnings("NullAway.Init")
    private TestSession a;

    private int names;

    @BeforeEach
    void start() throws Exception {
        group = new TestGroup(directory, 3, SETTINGS);
        group.awaitServing();
        await().until(() -> group.status().getFeatureLevel() >= 10);
        a = new TestSession(group);
    }

    @AfterEach
    void close() throws IOException {
        group.close();
        assertThat(group.fatal).hasNullValue();
    }

    private static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofSeconds(60));
    }

    private static IdRange acquire(TestSession session, int count) {
        MutationResult result = session.mutate(TestSession.acquireIds(count));
        assertThat(Errno.of(result.getErrno())).as(result.getDetail()).isEqualTo(Errno.OK);
        return result.getIds();
    }

    private Mutation create() {
        return TestSession.create("f" + names++, false);
    }

    private Mutation own(long id) {
        return create().toBuilder().setOwnInode(id).build();
    }

    private long made(TestSession session, Mutation mutation) {
        return TestSession.inode(session.mutate(mutation)).getInode();
    }

    @Test
    void filesGetTheIdsThatTheirClientsChose() {
        TestSession b = new TestSession(group);
        IdRange one = acquire(a, 1024);
        IdRange two = acquire(b, 16);
        Set<Long> ids = new TreeSet<>();
        for (int i = 0; i < 16; i++) {
            long id = two.getFirst() + i;
            assertThat(made(b, own(id))).isEqualTo(id);
            ids.add(id);
            ids.add(made(b, create()));
            ids.add(made(a, own(one.getFirst() + i)));
            ids.add(made(a, create()));
        }
        assertThat(ids).as("all different").hasSize(4 * 16);
        for (long id : ids) {
            assertThat(b.getAttr(id).get().getAttr().getInode()).isEqualTo(id);
        }
        List<MutationResult> mixed =
                a.mutate(
                                a.batch(
                                        a.next,
                                        own(one.getFirst() + 20),
                                        own(two.getFirst()),
                                        own(one.getFirst() + 5),
                                        create(),
                                        TestSession.unlink("f0").toBuilder()
                                                .setOwnInode(one.getFirst() + 21)
                                                .build(),
                                        own(one.getFirst() + 21)))
                        .get()
                        .getResultsList();
        assertThat(mixed)
                .extracting(result -> Errno.of(result.getErrno()))
                .containsExactly(
                        Errno.OK, Errno.EINVAL, Errno.EINVAL, Errno.OK, Errno.EINVAL, Errno.OK);
        assertThat(mixed.get(1).getDetail()).contains("" + two.getFirst(), "session " + a.id());
        assertThat(mixed.get(3).getAttr().getInode())
                .as("the leader chooses")
                .isGreaterThan(two.getLast());
    }

    /** What a client of before puts into the fields that are the leader's means nothing. */
    @Test
    void onlyTheLeaderFillsInTheFieldsThatAreItsOwn() {
        IdRange range = acquire(a, 8);
        Mutation create = create();
        create =
                create.toBuilder()
                        .setCreate(create.getCreate().toBuilder().setInode(range.getFirst()))
                        .build();
        long made = made(a, create);
        assertThat(made).isGreaterThan(range.getLast());
        assertThat(made(a, rename(create).toBuilder().setOwnInode(range.getFirst()).build()))
                .isEqualTo(range.getFirst());
        Mutation acquire = TestSession.acquireIds(5);
        acquire =
                acquire.toBuilder()
                        .setAcquireIds(acquire.getAcquireIds().toBuilder().setFirst(1L << 40))
                        .build();
        assertThat(a.mutate(acquire).getIds().getFirst()).isBetween(made + 1, made + 1000);
        for (int count : new int[] {0, 1025, -1}) {
            assertThat(Errno.of(a.mutate(TestSession.acquireIds(count)).getErrno()))
                    .isEqualTo(Errno.EINVAL);
        }
        assertThat(made(a, create())).as("none were used up").isLessThan(made + 1000);
        Mutation tooMany = TestSession.acquireIds(Integer.MAX_VALUE);
        assertThat(a.mutate(a.batch(a.next, tooMany, create())).get().getResultsList())
                .extracting(result -> Errno.of(result.getErrno()))
                .as("without harm to the rest of the batch")
                .containsExactly(Errno.EINVAL, Errno.OK);
    }

    private Mutation rename(Mutation create) {
        return create.toBuilder()
                .setCreate(create.getCreate().toBuilder().setName(create().getCreate().getName()))
                .build();
    }

    @Test
    void theNextLeaderKnowsWhichIdsAreWhose() throws Exception {
        TestSession b = new TestSession(group);
        IdRange one = acquire(a, 1024);
        made(a, own(one.getFirst()));
        made(a, own(one.getFirst() + 1));
        group.stop(group.awaitServing());
        group.awaitServing();
        assertThat(made(b, create())).as("above the range").isGreaterThan(one.getLast());
        assertThat(Errno.of(a.mutate(own(one.getFirst() + 1)).getErrno())).isEqualTo(Errno.EINVAL);
        assertThat(Errno.of(b.mutate(own(one.getFirst() + 2)).getErrno())).isEqualTo(Errno.EINVAL);
        assertThat(made(a, own(one.getFirst() + 2))).isEqualTo(one.getFirst() + 2);
        assertThat(acquire(b, 4).getFirst()).isGreaterThan(one.getLast() + 1);
    }

    /** Of an evicted session data may be there, but not before all data servers refuse it. */
    @Test
    void unusedIdsOfAnEvictedSessionAreDeletedInAllGroups() throws Exception {
        try (FakeDataServers three = new FakeDataServers(group, 3)) {
            three.registered(GROUPS);
            TestSession b = new TestSession(group);
            IdRange one = acquire(a, 1024);
            IdRange foreign = acquire(b, 10);
            IdRange two = acquire(a, 1024);
            for (int i = 0; i < 10; i++) {
                made(a, own(one.getFirst() + i));
            }
            three.servers().forEach(server -> server.heartbeat(epoch()));
            CheckInodesRequest check =
                    CheckInodesRequest.newBuilder()
                            .setPg(1 << 16)
                            .setMapEpoch(epoch())
                            .addInodes(one.getFirst())
                            .addInodes(one.getLast())
                            .addInodes(two.getFirst())
                            .addInodes(two.getLast())
                            .build();
            assertThat(orphans(three, check)).as("scrubs are told").isEmpty();
            Set<Long> expected = new TreeSet<>();
            for (TestSession more : List.of(new TestSession(group), new TestSession(group))) {
                expected.addAll(ids(acquire(more, 1024), 0));
                expected.addAll(ids(acquire(more, 1024), 0));
                evict(more);
            }
            evict(a);
            assertThat(orphans(three, check)).isEmpty();
            assertThat(three.servers()).allMatch(server -> server.deleted.isEmpty());
            await().until(() -> {
                three.servers().forEach(server -> server.heartbeat(epoch()));
                return sessions().equals(List.of(b.id()))
                        && group.status().getDeletionBacklogInodes() == 0;
            });
            expected.addAll(ids(one, 10));
            expected.addAll(ids(two, 0));
            Set<Long> deleted = new TreeSet<>();
            three.servers().forEach(server -> deleted.addAll(server.deleted.keySet()));
            assertThat(deleted).isEqualTo(expected);
            for (long id : expected) {
                int asked =
                        three.servers().stream()
                                .filter(server -> server.deleted.containsKey(id))
                                .mapToInt(server -> server.deleted.get(id).get())
                                .sum();
                assertThat(asked).as("groups asked of %d", id).isEqualTo(GROUPS);
            }
            assertThat(three.servers())
                    .as("as the protocol allows")
                    .allMatch(server -> server.mostDeleted.get() <= 4096);
            assertThat(made(b, own(foreign.getFirst()))).isEqualTo(foreign.getFirst());
        }
    }

    private void evict(TestSession session) {
        group.call(
                        Method.CLOSE_SESSION,
                        CloseSessionRequest.newBuilder()
                                .setSession(session.id())
                                .setEvict(true)
                                .build(),
                        CloseSessionReply.parser())
                .get();
    }

    private static List<Long> ids(IdRange range, int used) {
        return LongStream.rangeClosed(range.getFirst() + used, range.getLast()).boxed().toList();
    }

    private List<Integer> orphans(FakeDataServers servers, CheckInodesRequest request) {
        return servers.servers()
                .getFirst()
                .ask(Method.CHECK_INODES, request, CheckInodesReply.parser())
                .get()
                .getOrphansList();
    }

    private long epoch() {
        return group.status().getMap().getEpoch();
    }

    private List<Long> sessions() {
        return group.status().getSessionsList().stream().map(SessionStatus::getSession).toList();
    }
}
