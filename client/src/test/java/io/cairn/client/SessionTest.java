package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The session with the MDS: order, repetition, leaders, the end. */
class SessionTest extends ClientFixture {
    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(3, 2, FakeCluster.layout(1 << 16, 1, 1 << 16));
    }

    private CompletableFuture<Attr> mkdir(CairnClient client, String name) {
        return client.mkdir(1, bytes(name), 0755, WHO);
    }

    /** The numbers a member received, in order of arrival. */
    private List<Long> numbers(int member) {
        List<Long> numbers = new ArrayList<>();
        for (MutateRequest request : cluster.mds(member).received()) {
            for (int i = 0; i < request.getMutationsCount(); i++) {
                numbers.add(request.getFirstNumber() + i);
            }
        }
        return numbers;
    }

    private static List<Long> oneTo(long n) {
        return LongStream.rangeClosed(1, n).boxed().toList();
    }

    @Test
    void mutationsArePipelinedInOrderAndBatchedWhenThePipelineIsFull() {
        CairnClient client = connect("metadata_pipeline = 4");
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        List<CompletableFuture<Attr>> made = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            made.add(mkdir(client, "d" + i));
        }
        await().until(() -> cluster.mds(0).held() == 4);
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        made.forEach(ClientFixture::get);
        // The fake refuses what overtakes those just let go; that is sent again.
        assertThat(numbers(0).stream().distinct().toList()).isEqualTo(oneTo(40));
        assertThat(cluster.mds(0).received()).hasSizeLessThan(20);
        assertThat(cluster.names().executed()).hasSize(40);
        get(mkdir(client, "last"));
        assertThat(cluster.mds(0).received().getLast().getAckedBelow()).isEqualTo(41);
    }

    @Test
    void everythingOutstandingIsSentAgainWithItsNumbersAfterALostConnection() {
        CairnClient client = connect("metadata_pipeline = 4");
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        List<CompletableFuture<Attr>> made = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            made.add(mkdir(client, "d" + i));
        }
        await().until(() -> cluster.mds(0).held() == 4);
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).cutConnections();
        made.forEach(ClientFixture::get);
        assertThat(numbers(0).subList(0, 4)).isEqualTo(oneTo(4));
        assertThat(numbers(0).subList(4, 14)).isEqualTo(oneTo(10));
        assertThat(cluster.names().executed()).hasSize(10);
        cluster.mds(0).letGo(); // what was held belongs to a connection that is gone
        assertThat(cluster.names().executed()).hasSize(10);
    }

    @Test
    void aMutationExecutedBeforeItsAnswerWasLostIsNotExecutedAgain() {
        CairnClient client = connect();
        AtomicInteger mutations = new AtomicInteger();
        cluster.mds(0)
                .faults(m ->
                        m == Method.MUTATE && mutations.incrementAndGet() == 1
                                ? Fault.CUT_AFTER
                                : Fault.NONE);
        Attr made = get(mkdir(client, "once"));
        assertThat(cluster.names().executed()).containsExactly("1 MKDIR");
        assertThat(get(client.lookup(1, bytes("once"))).getInode()).isEqualTo(made.getInode());
    }

    @Test
    void followsTheLeaderWhereItIsNamed() {
        CairnClient client = connect();
        get(mkdir(client, "a"));
        cluster.leader(cluster.mds(2));
        get(mkdir(client, "b"));
        assertThat(get(client.lookup(1, bytes("a"))).getMode()).isEqualTo(0040755);
        assertThat(numbers(2)).containsExactly(2L);
        assertThat(cluster.names().executed()).containsExactly("1 MKDIR", "2 MKDIR");
    }

    @Test
    void findsTheLeaderByAskingWhereNobodyNamesIt() {
        cluster.redirects(false);
        cluster.leader(cluster.mds(2));
        CairnClient client = connect();
        get(mkdir(client, "a"));
        cluster.leader(cluster.mds(1));
        get(mkdir(client, "b"));
        assertThat(cluster.names().executed()).containsExactly("1 MKDIR", "2 MKDIR");
    }

    /** Another session is opened under the map that names them. */
    @Test
    void membersThatTheMapNamesAreAskedInTheNextSessionToo() {
        cluster.redirects(false);
        CairnClient client = connect(cluster.configOf(cluster.mds(0)));
        get(mkdir(client, "a"));
        cluster.names().endSession(cluster.names().onlySession());
        get(mkdir(client, "b"));
        assertThat(cluster.mds(0).openedWith()).containsExactly(0L, 1L);
        cluster.leader(cluster.mds(1));
        get(mkdir(client, "c"));
        assertThat(numbers(1)).isNotEmpty();
    }

    /**
     * Its process is suspended: nothing says so, and an attempt lasts longer than anybody waits.
     */
    @Test
    void aLeaderThatStopsAnsweringIsLeftForAnother() {
        CairnClient client = connect("attempt_timeout = \"40s\"");
        get(mkdir(client, "a"));
        cluster.mds(0).faults(method -> Fault.HOLD);
        CompletableFuture<Attr> made = mkdir(client, "b");
        CompletableFuture<Attr> seen = client.getAttr(1);
        await().until(() -> cluster.mds(0).held() >= 2);
        assertThat(made).isNotDone();
        cluster.leader(cluster.mds(2));
        get(made);
        get(seen);
        assertThat(cluster.names().executed()).containsExactly("1 MKDIR", "2 MKDIR");
        cluster.mds(0).letGo(); // an answer from earlier does no harm
        get(mkdir(client, "c"));
    }

    @Test
    void waitsWhileThereIsNoLeader() {
        CairnClient client = connect();
        cluster.leader(null);
        CompletableFuture<Attr> made = mkdir(client, "a");
        CompletableFuture<Attr> seen = client.getAttr(1);
        await().until(() -> !cluster.mds(0).received().isEmpty());
        assertThat(made).isNotDone();
        cluster.leader(cluster.mds(1));
        get(made);
        get(seen);
    }

    @Test
    void operationsEndAtTheirDeadline() {
        CairnClient client = connect("metadata_timeout = \"300ms\"");
        cluster.leader(null);
        CompletableFuture<Attr> made = mkdir(client, "a");
        CompletableFuture<Attr> seen = client.getAttr(1);
        assertThat(errno(made)).isEqualTo(Errno.ETIMEDOUT);
        assertThat(errno(seen)).isEqualTo(Errno.ETIMEDOUT);
        cluster.leader(cluster.mds(0));
        // It had a number, so it is executed late; what follows comes after it.
        await().until(() -> cluster.names().executed().size() == 1);
        get(client.mkdir(1, bytes("b"), 0755, WHO));
        assertThat(cluster.names().executed()).containsExactly("1 MKDIR", "2 MKDIR");
    }

    @Test
    void anOpenThatSucceedsAfterItsCallerGaveUpIsGivenBack() {
        CairnClient client = connect("metadata_timeout = \"300ms\"");
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        CompletableFuture<OpenFile> late = client.create(1, bytes("f"), REGULAR, true, WHO);
        assertThat(errno(late)).isEqualTo(Errno.ETIMEDOUT);
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        await().until(() -> cluster.names().executed().size() == 2);
        long inode = get(client.lookup(1, bytes("f"))).getInode();
        assertThat(cluster.names().opens(inode)).isZero();
    }

    @Test
    void aBatchRefusedForEverEndsTheSessionWithItsReasonAndTheClientGoesOn() {
        CairnClient client = connect();
        get(mkdir(client, "a"));
        long old = cluster.names().onlySession();
        cluster.mds(0)
                .refuse(b ->
                        b.getMutationsList().stream()
                                .anyMatch(
                                        m -> m.getMkdir().getName().toStringUtf8().equals("bad")));
        assertThat(failure(mkdir(client, "bad")))
                .matches(e -> e.errno() == Errno.EIO)
                .hasMessageContaining("EINVAL")
                .hasMessageContaining("not like that");
        get(mkdir(client, "b"));
        assertThat(cluster.names().onlySession()).isNotEqualTo(old);
        assertThat(cluster.refuses(old)).as("its late writes are refused").isTrue();
    }

    @Test
    void anAnswerThatCannotBeOneIsNotAskedForAgainForEver() {
        CairnClient client = connect();
        cluster.mds(0).answerShort(true);
        assertThat(errno(mkdir(client, "a"))).isEqualTo(Errno.EIO);
        cluster.mds(0).answerShort(false);
        get(mkdir(client, "b"));
    }

    @Test
    void renewalKeepsTheSession() {
        CairnClient client = connect();
        long session = cluster.names().onlySession();
        AtomicInteger renewals = new AtomicInteger();
        cluster.mds(0)
                .faults(m -> {
                    if (m == Method.RENEW_SESSION) {
                        renewals.incrementAndGet();
                    }
                    return Fault.NONE;
                });
        await().until(() -> renewals.get() >= 2);
        get(mkdir(client, "a"));
        assertThat(cluster.names().onlySession()).isEqualTo(session);
    }

    @Test
    void openingASessionIsRepeatedUntilItIsAnswered() {
        AtomicInteger tries = new AtomicInteger();
        cluster.mds(0)
                .faults(m ->
                        m == Method.OPEN_SESSION && tries.incrementAndGet() < 3
                                ? Fault.CUT_AFTER
                                : Fault.NONE);
        connect();
        assertThat(cluster.names().sessions()).isEqualTo(1);
    }

    @Test
    void closingEndsTheSessionAndGivesFilesBack() {
        CairnClient client = connect();
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        client.close();
        assertThat(cluster.names().sessions()).isZero();
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(3);
        assertThat(cluster.names().executed()).endsWith("2 RELEASE");
        assertThat(errno(client.getAttr(1))).isEqualTo(Errno.ESTALE);
        client.close();
    }

    @Test
    void connectingSaysWhyItFails() {
        cluster.leader(null);
        assertThatThrownBy(() -> connect("connect_timeout = \"300ms\""))
                .isInstanceOfSatisfying(
                        FsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EHOSTUNREACH))
                .hasMessageContaining("127.0.0.1");
        cluster.leader(cluster.mds(0));
        assertThatThrownBy(() -> connect("cluster_id = \"" + "ab".repeat(16) + "\""))
                .isInstanceOfSatisfying(
                        FsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EPROTO))
                .hasMessageContaining("cluster id differs");
    }

    @Test
    void aPathBecomesTheRoot() {
        CairnClient whole = connect();
        long a = get(mkdir(whole, "a")).getInode();
        long b = get(whole.mkdir(a, bytes("b"), 0755, WHO)).getInode();
        get(create(whole, "f").release());
        assertThat(whole.rootInode()).isEqualTo(CairnClient.ROOT_INODE);
        assertThat(connect("path = \"/a//b/\"").rootInode()).isEqualTo(b);
        assertThatThrownBy(() -> connect("path = \"/a/c\""))
                .isInstanceOfSatisfying(
                        FsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENOENT));
        assertThatThrownBy(() -> connect("path = \"/f\""))
                .isInstanceOfSatisfying(
                        FsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENOTDIR));
    }

    @Test
    void everyMutationCarriesTheClientsClock() {
        get(mkdir(connect(), "a"));
        Mutation mutation = cluster.mds(0).received().getFirst().getMutations(0);
        assertThat(mutation.getTime().getSeconds()).isPositive();
    }
}
