package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.FakeReadOpens;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.SetAttrOp;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Files that are opened for reading by the look-ups of their names. */
class OpensAheadTest extends ClientFixture {
    private static final int LEASE = 60_000_000;

    private final AtomicInteger asked = new AtomicInteger();
    private FakeReadOpens reads;
    private CairnClient client;
    private long session;

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(2, 2, FakeCluster.layout(1 << 16, 1, 1 << 16));
    }

    /** A client that has opened a file for reading just now. */
    @BeforeEach
    void read() {
        reads = cluster.names().reads();
        reads.allow(true);
        cluster.mds(0).leases(LEASE);
        counting(Fault.NONE, Method.METHOD_UNSPECIFIED);
        client = connect();
        client.holdLeases((recall, forgotten) -> forgotten.run());
        session = cluster.names().onlySession();
        OpenFile file = get(client.openForReading(written("first")));
        get(file.release());
        await().until(() -> reads.count() == 0);
        asked.set(0);
    }

    private void counting(Fault fault, Method of) {
        cluster.mds(0)
                .faults(m -> {
                    if (m == Method.OPEN_FOR_READING) {
                        asked.incrementAndGet();
                    }
                    return m == of ? fault : Fault.NONE;
                });
    }

    private long written(String name) {
        OpenFile file = create(client, name);
        get(write(file, 0, "abc"));
        get(file.fsync());
        get(file.release());
        await().until(() -> cluster.names().opens(file.inode()) == 0);
        return file.inode();
    }

    /** A file that was looked up. */
    private long found(String name) {
        long inode = written(name);
        assertThat(get(client.lookup(1, bytes(name))).getInode()).isEqualTo(inode);
        assertThat(reads.isOpen(session, inode)).isTrue();
        return inode;
    }

    private void awaitClosed(long inode) {
        await().until(() -> !reads.isOpen(session, inode));
    }

    private void recall(long inode) {
        cluster.mds(0)
                .recall(
                        ReadRecall.newBuilder()
                                .setSession(session)
                                .setNumber(1)
                                .addInodes(inode)
                                .build());
    }

    @Test
    void whatWasLookedUpIsOpen() {
        long inode = found("f");
        OpenFile file = get(client.openForReading(inode));
        assertThat(asked).hasValue(0);
        assertThat(file.attr().getSize()).isEqualTo(3);
        assertThat(read(file, 0, 10)).isEqualTo("abc");
        CairnClient other = connect();
        get(other.unlink(1, bytes("f")));
        assertThat(cluster.names().exists(inode)).isTrue();
        assertThat(read(file, 0, 10)).isEqualTo("abc");
        get(file.release());
        await().until(() -> !cluster.names().exists(inode));
    }

    @Test
    void nothingElseIs() {
        get(client.mkdir(1, bytes("d"), 0755, WHO));
        get(client.lookup(1, bytes("d")));
        get(client.symlink(1, bytes("s"), bytes("x"), WHO));
        get(client.lookup(1, bytes("s")));
        assertThat(errno(client.lookup(1, bytes("none")))).isEqualTo(Errno.ENOENT);
        assertThat(reads.count()).isZero();
    }

    @Test
    void whereNothingIsReadNothingIsOpened() {
        long inode = written("f");
        for (int i = 0; i < 100; i++) {
            get(client.lookup(1, bytes("f")));
        }
        recall(inode);
        awaitClosed(inode);
        get(client.lookup(1, bytes("f")));
        assertThat(reads.count()).isZero();
    }

    @Test
    void whatIsNotOpenedIsClosedWhenItsLeaseEnds() {
        cluster.mds(0).leases(200_000);
        long inode = written("f");
        get(client.lookup(1, bytes("f")));
        awaitClosed(inode);
        get(get(client.openForReading(inode)).release());
        assertThat(asked).hasValue(1);
    }

    @Test
    void aRecallClosesIt() {
        long inode = found("f");
        recall(inode);
        awaitClosed(inode);
        get(client.openForReading(inode));
        assertThat(asked).hasValue(1);
    }

    /** The recall overtakes the answer. */
    @Test
    void whatWasRecalledMeanwhileIsNotUsed() {
        long inode = written("f");
        counting(Fault.LATE, Method.LOOKUP);
        CompletableFuture<LookupReply> late = client.find(1, bytes("f"));
        await().until(() -> reads.isOpen(session, inode));
        recall(inode);
        await().until(() -> !cluster.mds(0).acknowledged().isEmpty());
        counting(Fault.NONE, Method.LOOKUP);
        cluster.mds(0).letGo();
        get(late);
        awaitClosed(inode);
    }

    @Test
    void whatThisClientHasChangedIsNotUsed() {
        long inode = found("f");
        get(client.setAttr(SetAttrOp.newBuilder().setInode(inode).setMode(0600).build(), WHO));
        awaitClosed(inode);
        get(client.lookup(1, bytes("f")));
        OpenFile writer = get(client.open(inode));
        get(write(writer, 3, "defg"));
        get(writer.fsync());
        get(writer.release());
        OpenFile reader = get(client.openForReading(inode));
        assertThat(asked).hasValue(1);
        assertThat(read(reader, 0, 10)).isEqualTo("abcdefg");
        get(client.rename(1, bytes("f"), 1, bytes("g"), 0));
        get(reader.release());
        awaitClosed(inode);
    }

    /** The leader counts one open: a look-up must not end it, nor outlive it. */
    @Test
    void besideAnOpenThereIsNone() {
        long inode = written("f");
        OpenFile file = get(client.openForReading(inode));
        get(client.lookup(1, bytes("f")));
        recall(inode);
        await().until(() -> !cluster.mds(0).acknowledged().isEmpty());
        CairnClient other = connect();
        get(other.unlink(1, bytes("f")));
        assertThat(read(file, 0, 10)).isEqualTo("abc");
        assertThat(cluster.names().exists(inode)).isTrue();
        get(file.release());
        await().until(() -> !cluster.names().exists(inode));
    }

    @Test
    void itIsOpenAtTheNextLeaderOnlyIfItIsUsed() {
        long inode = found("f");
        long used = found("g");
        OpenFile file = get(client.openForReading(used));
        cluster.leader(cluster.mds(1));
        await().until(() -> reads.isOpen(session, used) && !reads.isAwaited(session));
        assertThat(reads.isOpen(session, inode)).isFalse();
        assertThat(read(file, 0, 10)).isEqualTo("abc");
    }

    /** The leader may open it later: so a round begins. */
    @Test
    void aLookUpThatNobodyWaitsForAnyMoreLeavesNothingOpen() {
        cluster.mds(0).leases(LEASE);
        CairnClient hasty = connect("metadata_timeout = \"200ms\"");
        hasty.holdLeases((recall, forgotten) -> forgotten.run());
        long inode = written("f");
        get(get(hasty.openForReading(inode)).release());
        await().until(() -> reads.count() == 0);
        counting(Fault.LATE, Method.LOOKUP);
        int before = reads.reclaims();
        assertThat(errno(hasty.lookup(1, bytes("f")))).isEqualTo(Errno.ETIMEDOUT);
        counting(Fault.NONE, Method.LOOKUP);
        await().until(() -> reads.reclaims() > before);
        await().until(() -> reads.count() == 0);
        hasty.close();
    }

    /** Nobody knows whether the leader has opened it: it is told what is open. */
    @Test
    void anAnswerThatWasLostLeavesNothingOpen() {
        long inode = written("f");
        AtomicInteger cuts = new AtomicInteger(1);
        cluster.mds(0)
                .faults(m ->
                        m == Method.LOOKUP && cuts.getAndDecrement() > 0
                                ? Fault.CUT_AFTER
                                : Fault.NONE);
        get(client.lookup(1, bytes("f")));
        recall(inode);
        awaitClosed(inode);
    }
}
