package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.ReadRecalledRequest;
import java.io.IOException;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Leases of names and attributes, from the leader's answers to who holds them, and back. */
class LeaseSessionTest extends ClientFixture {
    private static final int LEASE = 700_000;
    private static final String NEVER = "publish_interval = \"1min\"";

    private record Recalled(ReadRecall recall, Runnable forgotten) {}

    private final Queue<Recalled> recalled = new ConcurrentLinkedQueue<>();

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(2, 2, FakeCluster.layout(1 << 16, 1, 1 << 16));
    }

    @BeforeEach
    void grant() {
        cluster.mds(0).leases(LEASE);
    }

    private CairnClient holder() {
        CairnClient client = connect(NEVER);
        client.holdLeases((recall, forgotten) -> recalled.add(new Recalled(recall, forgotten)));
        return client;
    }

    private static Attr lookup(CairnClient client, String name) {
        return get(client.lookup(client.rootInode(), bytes(name)));
    }

    private void recall(long number) {
        cluster.mds(0)
                .recall(
                        ReadRecall.newBuilder()
                                .setSession(cluster.names().onlySession())
                                .setNumber(number)
                                .addInodes(1)
                                .build());
    }

    private List<ReadRecalledRequest> acknowledged() {
        return cluster.mds(0).acknowledged();
    }

    private Recalled takeRecalled() {
        return await().until(recalled::poll, r -> r != null);
    }

    @Test
    void whoHoldsNoneAsksForNone() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        assertThat(lookup(client, "f").getNameLeaseMicros()).isZero();
        assertThat(get(client.getAttr(file.inode())).getAttrLeaseMicros()).isZero();
        assertThat(errno(client.find(client.rootInode(), bytes("none")))).isEqualTo(Errno.ENOENT);
        recall(1);
        await().until(() -> acknowledged().size() == 1);
    }

    @Test
    void answersBringThem() {
        CairnClient client = holder();
        create(client, "f").release();
        Attr found = lookup(client, "f");
        assertThat(found.getNameLeaseMicros()).isEqualTo(LEASE);
        assertThat(found.getAttrLeaseMicros()).isEqualTo(LEASE);
        assertThat(get(client.getAttr(found.getInode())).getAttrLeaseMicros()).isEqualTo(LEASE);
        ReadDirReply listed = get(client.readDir(client.rootInode(), 0, 0, true));
        assertThat(listed.getEntries(0).getAttr().getNameLeaseMicros()).isEqualTo(LEASE);
    }

    @Test
    void whatIsMadeBringsThem() {
        CairnClient client = holder();
        OpenFile file = create(client, "f");
        assertThat(file.made().getNameLeaseMicros()).isEqualTo(LEASE);
        assertThat(file.made().getAttrLeaseMicros()).isEqualTo(LEASE);
        get(write(file, 0, "abc"));
        assertThat(file.made().getSize()).isEqualTo(3);
        assertThat(file.made().getAttrLeaseMicros()).isZero();
        assertThat(get(client.open(file.inode())).made()).isEqualTo(file.attr());
    }

    @Test
    void aNameThatIsMissingHasALeaseToo() {
        CairnClient client = holder();
        LookupReply reply = get(client.find(client.rootInode(), bytes("none")));
        assertThat(reply.hasAttr()).isFalse();
        assertThat(reply.getMissingLeaseMicros()).isEqualTo(LEASE);
        assertThat(errno(client.lookup(client.rootInode(), bytes("none")))).isEqualTo(Errno.ENOENT);
    }

    /** The MDS will hear of the new size and mtime, and give leases of what they then are. */
    @Test
    void attributesThatOwnWritesHaveChangedHaveNone() {
        CairnClient client = holder();
        OpenFile file = create(client, "f");
        assertThat(lookup(client, "f").getAttrLeaseMicros()).isEqualTo(LEASE);
        get(write(file, 0, "abc"));
        Attr found = lookup(client, "f");
        assertThat(found.getSize()).isEqualTo(3);
        assertThat(found.getAttrLeaseMicros()).isZero();
        assertThat(found.getNameLeaseMicros()).as("it still has its name").isEqualTo(LEASE);
        assertThat(found.getNoXattrsLeaseMicros()).as("and nothing else").isEqualTo(LEASE);
        Attr listed = get(client.readDir(client.rootInode(), 0, 0, true)).getEntries(0).getAttr();
        assertThat(listed.getSize()).isEqualTo(3);
        assertThat(listed.getAttrLeaseMicros()).isZero();
        get(file.flush());
        assertThat(lookup(client, "f").getAttrLeaseMicros()).isEqualTo(LEASE);
    }

    /**
     * The size is confirmed when the older answer arrives; what is told then is the newer state.
     */
    @Test
    void anAnswerThatANewerOneOvertookHasNone() {
        CairnClient client = holder();
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        cluster.mds(0).faults(method -> method == Method.GET_ATTR ? Fault.LATE : Fault.NONE);
        CompletableFuture<Attr> late = client.getAttr(file.inode());
        await().until(() -> cluster.mds(0).held() == 1);
        cluster.mds(0).faults(method -> Fault.NONE);
        get(file.flush());
        cluster.mds(0).letGo();
        assertThat(get(late).getSize()).isEqualTo(3);
        assertThat(get(late).getAttrLeaseMicros()).isZero();
    }

    /** The lease of an answer is not that of attributes kept from it. */
    @Test
    void openFilesRememberAttributesWithoutLeases() {
        CairnClient client = holder();
        OpenFile file = create(client, "f");
        assertThat(lookup(client, "f").getAttrLeaseMicros()).isEqualTo(LEASE);
        assertThat(file.attr().getAttrLeaseMicros()).isZero();
        assertThat(file.attr().getNameLeaseMicros()).isZero();
        assertThat(file.attr().getNoXattrs()).isFalse();
        assertThat(file.attr().getNoXattrsLeaseMicros()).isZero();
    }

    @Test
    void aRecallIsAcknowledgedWhenAllIsForgotten() {
        CairnClient client = holder();
        create(client, "f");
        recall(7);
        Recalled told = takeRecalled();
        assertThat(told.recall.getInodesList()).containsExactly(1L);
        assertThat(acknowledged()).isEmpty();
        told.forgotten.run();
        await().until(() -> acknowledged().size() == 1);
        assertThat(acknowledged().getFirst().getNumbersList()).containsExactly(7L);
        assertThat(acknowledged().getFirst().getSession()).isEqualTo(cluster.names().onlySession());
    }

    @Test
    void recallsForgottenWhileAnAcknowledgementIsInFlightShareTheNext() {
        CairnClient client = holder();
        create(client, "f");
        cluster.mds(0).faults(method -> method == Method.READ_RECALLED ? Fault.HOLD : Fault.NONE);
        for (int number = 1; number <= 4; number++) {
            recall(number);
            takeRecalled().forgotten.run();
        }
        await().until(() -> cluster.mds(0).held() == 1);
        assertThat(acknowledged()).hasSize(1);
        cluster.mds(0).faults(method -> Fault.NONE);
        cluster.mds(0).letGo();
        await().until(() -> acknowledged().size() == 2);
        assertThat(acknowledged().get(0).getNumbersList()).containsExactly(1L);
        assertThat(acknowledged().get(1).getNumbersList()).containsExactly(2L, 3L, 4L);
    }

    /** Another leader has numbers of its own. */
    @Test
    void aRecallIsAcknowledgedOnlyToWhoSentIt() {
        CairnClient client = holder();
        create(client, "f");
        recall(1);
        Recalled before = takeRecalled();
        cluster.leader(cluster.mds(1));
        create(client, "g");
        before.forgotten.run();
        await().until(() -> acknowledged().size() == 1);
        cluster.mds(1)
                .recall(
                        ReadRecall.newBuilder()
                                .setSession(cluster.names().onlySession())
                                .setNumber(2)
                                .build());
        takeRecalled().forgotten.run();
        await().until(() -> cluster.mds(1).acknowledged().size() == 1);
        assertThat(cluster.mds(1).acknowledged().getFirst().getNumbersList()).containsExactly(2L);
        assertThat(acknowledged()).hasSize(1);
    }
}
