package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.FakeReadOpens;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.Method;
import io.cairn.common.seed.TestSeed;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Files that a client has open for reading, which only the leader knows. */
class OpenForReadingTest extends ClientFixture {
    private FakeReadOpens reads;

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(2, 2, FakeCluster.layout(1 << 16, 1, 1 << 16));
    }

    @BeforeEach
    void allow() {
        reads = cluster.names().reads();
        reads.allow(true);
    }

    private static long written(CairnClient client, String name) {
        OpenFile file = create(client, name);
        get(write(file, 0, "abc"));
        get(file.fsync());
        get(file.release());
        return file.inode();
    }

    private long opensByMutation() {
        return cluster.names().executed().stream().filter(e -> e.endsWith(" OPEN")).count();
    }

    private void unlinkAsAnother(String name) {
        CairnClient other = connect();
        get(other.unlink(1, bytes(name)));
        other.close();
    }

    @Test
    void readingAFileChangesNothingAtTheMds() {
        CairnClient client = connect();
        long inode = written(client, "f");
        long session = cluster.names().onlySession();
        await().until(() -> cluster.names().executed().getLast().endsWith(" RELEASE"));
        int before = cluster.names().executed().size();
        OpenFile one = get(client.openForReading(inode));
        OpenFile two = get(client.openForReading(inode));
        assertThat(reads.isOpen(session, inode)).isTrue();
        assertThat(read(one, 0, 10)).isEqualTo("abc");
        get(one.release());
        assertThat(read(two, 0, 10)).isEqualTo("abc");
        assertThat(reads.isOpen(session, inode)).isTrue();
        get(two.release());
        await().until(() -> reads.count() == 0);
        assertThat(cluster.names().executed()).hasSize(before);
        assertThat(cluster.names().opens(inode)).isZero();
    }

    @Test
    void itCannotBeChanged() {
        CairnClient client = connect();
        OpenFile file = get(client.openForReading(written(client, "f")));
        assertThat(errno(write(file, 0, "x"))).isEqualTo(Errno.EBADF);
        assertThat(errno(append(file, "x"))).isEqualTo(Errno.EBADF);
        assertThat(errno(file.extend(100))).isEqualTo(Errno.EBADF);
        get(file.fsync());
        get(file.flush());
        get(file.release());
        assertThat(errno(file.read(0, 1))).isEqualTo(Errno.EBADF);
    }

    @Test
    void aWriterOfTheSameClientHasAnOpenOfItsOwn() {
        CairnClient client = connect();
        long inode = written(client, "f");
        OpenFile reader = get(client.openForReading(inode));
        OpenFile writer = get(client.open(inode));
        assertThat(cluster.names().opens(inode)).isEqualTo(1);
        get(write(writer, 3, "def"));
        get(writer.fsync());
        get(writer.release());
        unlinkAsAnother("f");
        assertThat(read(reader, 0, 10)).isEqualTo("abcdef");
        assertThat(cluster.names().exists(inode)).isTrue();
        get(reader.release());
        await().until(() -> !cluster.names().exists(inode));
        assertThat(reads.count()).isZero();
    }

    @Test
    void aReaderBesideAWriterNeedsNone() {
        CairnClient client = connect();
        OpenFile writer = create(client, "f");
        OpenFile reader = get(client.openForReading(writer.inode()));
        get(write(writer, 0, "abc"));
        get(writer.release());
        assertThat(reads.count()).isZero();
        unlinkAsAnother("f");
        assertThat(read(reader, 0, 10)).isEqualTo("abc");
        assertThat(cluster.names().exists(reader.inode())).isTrue();
        get(reader.release());
        await().until(() -> !cluster.names().exists(reader.inode()));
    }

    @Test
    void aLockNeedsAnOpenThatTheMdsCounts() {
        CairnClient client = connect();
        long inode = written(client, "f");
        OpenFile reader = get(client.openForReading(inode));
        FileLock lock =
                FileLock.newBuilder().setFlock(true).setOwner(7).setEnd(Long.MAX_VALUE).build();
        get(reader.lock(lock, false, () -> true).had());
        assertThat(cluster.names().opens(inode)).isEqualTo(1);
        assertThat(cluster.names().locks(inode)).hasSize(1);
        get(reader.lock(lock.toBuilder().setExclusive(true).build(), false, () -> true).had());
        assertThat(cluster.names().opens(inode)).isEqualTo(1);
        get(reader.release());
        await().until(() -> cluster.names().opens(inode) == 0 && reads.count() == 0);
        assertThat(cluster.names().locks(inode)).isEmpty();
    }

    @Test
    void aRemovedFileIsReadOnAfterAnotherLeaderWasFound() {
        CairnClient client = connect();
        long session = cluster.names().onlySession();
        long inode = written(client, "f");
        OpenFile reader = get(client.openForReading(inode));
        unlinkAsAnother("f");
        cluster.leader(cluster.mds(1));
        assertThat(reads.isOpen(session, inode)).isFalse();
        // The client hears of it by its next renewal, if by nothing else.
        await().until(() -> reads.isOpen(session, inode) && !reads.isAwaited(session));
        assertThat(read(reader, 0, 10)).isEqualTo("abc");
        assertThat(cluster.names().exists(inode)).isTrue();
        get(reader.release());
        await().until(() -> !cluster.names().exists(inode));
    }

    @Test
    void aLeaderThatLeadsAnewAsksForWhatIsOpen() {
        CairnClient client = connect();
        long session = cluster.names().onlySession();
        long inode = written(client, "f");
        OpenFile reader = get(client.openForReading(inode));
        reads.leaderChanged(); // its connection stands
        await().until(() -> reads.isOpen(session, inode) && !reads.isAwaited(session));
        long other = written(client, "g");
        reads.leaderChanged(); // and now it is asked for something before
        OpenFile second = get(client.openForReading(other));
        assertThat(reads.isOpen(session, inode)).isTrue();
        assertThat(reads.isOpen(session, other)).isTrue();
        get(reader.release());
        get(second.release());
        await().until(() -> reads.count() == 0);
    }

    @Test
    void anOpenWhoseAnswerWasLostIsRepeated() {
        CairnClient client = connect();
        long inode = written(client, "f");
        AtomicInteger cuts = new AtomicInteger(2);
        cluster.mds(0)
                .faults(m ->
                        m == Method.OPEN_FOR_READING && cuts.getAndDecrement() > 0
                                ? cuts.get() == 1 ? Fault.CUT_AFTER : Fault.CUT_BEFORE
                                : Fault.NONE);
        OpenFile reader = get(client.openForReading(inode));
        assertThat(read(reader, 0, 10)).isEqualTo("abc");
        assertThat(reads.count()).isEqualTo(1);
        get(reader.release());
        await().until(() -> reads.count() == 0);
        assertThat(opensByMutation()).isZero();
    }

    @Test
    void aCloseThatWasLostIsMadeGood() {
        CairnClient client = connect();
        long inode = written(client, "f");
        AtomicInteger cuts = new AtomicInteger(1);
        cluster.mds(0)
                .faults(m ->
                        m == Method.CLOSE_FOR_READING && cuts.getAndDecrement() > 0
                                ? Fault.CUT_BEFORE
                                : Fault.NONE);
        OpenFile reader = get(client.openForReading(inode));
        get(reader.release());
        await().until(() -> reads.count() == 0);
    }

    @Test
    void anOpenThatNobodyWaitsForIsGivenBack() {
        CairnClient client = connect("metadata_timeout = \"200ms\"");
        long inode = written(client, "f");
        cluster.mds(0).faults(m -> m == Method.OPEN_FOR_READING ? Fault.HOLD : Fault.NONE);
        CompletableFuture<OpenFile> opened = client.openForReading(inode);
        assertThat(errno(opened)).isEqualTo(Errno.ETIMEDOUT);
        cluster.mds(0).faults(m -> Fault.NONE);
        int before = reads.reclaims();
        cluster.mds(0).letGo();
        unlinkAsAnother("f");
        await().until(() -> !cluster.names().exists(inode));
        assertThat(reads.reclaims()).isGreaterThanOrEqualTo(before);
    }

    @Test
    void withItsSessionItIsOpenedAgainByTheMds() {
        CairnClient client = connect();
        long inode = written(client, "f");
        OpenFile reader = get(client.openForReading(inode));
        cluster.evict(cluster.names().onlySession());
        assertThat(read(reader, 0, 10)).isEqualTo("abc");
        await().until(() -> cluster.names().opens(inode) == 1);
        unlinkAsAnother("f");
        assertThat(read(reader, 0, 10)).isEqualTo("abc");
        get(reader.release());
        await().until(() -> !cluster.names().exists(inode));
    }

    @Test
    void whatWasRemovedWhileTheSessionEndedIsGone() {
        CairnClient client = connect();
        long inode = written(client, "f");
        OpenFile reader = get(client.openForReading(inode));
        cluster.mds(0).faults(m -> m == Method.OPEN_SESSION ? Fault.HOLD : Fault.NONE);
        cluster.evict(cluster.names().onlySession());
        cluster.names().unlinkBehind("f");
        assertThat(cluster.names().exists(inode)).isFalse();
        CompletableFuture<?> read = reader.read(0, 10);
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        assertThat(errno(read)).isEqualTo(Errno.ESTALE);
    }

    @Test
    void aFileThatIsGoneIsNotOpened() {
        CairnClient client = connect();
        long inode = written(client, "f");
        unlinkAsAnother("f");
        assertThat(errno(client.openForReading(inode))).isEqualTo(Errno.ENOENT);
        assertThat(errno(client.openForReading(1))).isEqualTo(Errno.EINVAL);
    }

    @Test
    void whereTheMdsDoesNotKnowItAMutationOpens() {
        reads.allow(false);
        CairnClient client = connect();
        long inode = written(client, "f");
        OpenFile reader = get(client.openForReading(inode));
        assertThat(opensByMutation()).isEqualTo(1);
        assertThat(read(reader, 0, 10)).isEqualTo("abc");
        assertThat(errno(write(reader, 0, "x"))).isEqualTo(Errno.EBADF);
        get(reader.release());
        await().until(() -> cluster.names().opens(inode) == 0);
    }

    /** Handles of all kinds come and go while connections break and leaders change. */
    @Test
    void whateverHappensWhatIsOpenExists() {
        long seed = TestSeed.of("OpenForReadingTest");
        Random random = new Random(seed);
        cluster.mds(0).leases(300_000); // and some are opened by look-ups
        cluster.mds(1).leases(300_000);
        CairnClient client = connect();
        client.holdLeases((recall, forgotten) -> forgotten.run());
        CairnClient other = connect();
        Map<Long, List<OpenFile>> open = new HashMap<>();
        List<Long> named = new ArrayList<>();
        for (int step = 0; step < 400; step++) {
            switch (random.nextInt(12)) {
                case 0, 1 -> {
                    long inode = written(client, "f" + step);
                    get(client.lookup(1, bytes("f" + step)));
                    named.add(inode);
                    handles(open, inode).clear();
                    if (random.nextBoolean()) {
                        handles(open, inode).add(get(client.openForReading(inode)));
                    }
                    get(other.lookup(1, bytes("f" + step)));
                    if (random.nextInt(3) == 0) {
                        get(other.unlink(1, bytes("f" + step)));
                        named.remove(inode);
                    }
                }
                case 2, 3, 4 -> {
                    if (!named.isEmpty()) {
                        long inode = named.get(random.nextInt(named.size()));
                        handles(open, inode).add(get(client.openForReading(inode)));
                    }
                }
                case 5 -> {
                    if (!named.isEmpty()) {
                        long inode = named.get(random.nextInt(named.size()));
                        handles(open, inode).add(get(client.open(inode)));
                    }
                }
                case 6, 7, 8, 9 -> {
                    for (List<OpenFile> handles : open.values()) {
                        if (!handles.isEmpty() && random.nextInt(3) == 0) {
                            get(handles.remove(random.nextInt(handles.size())).release());
                        }
                    }
                }
                case 10 -> {
                    if (random.nextBoolean()) {
                        reads.leaderChanged();
                    } else {
                        cluster.leader(cluster.mds(random.nextInt(2)));
                    }
                }
                default -> cluster.mds(random.nextInt(2)).cutConnections();
            }
            for (Map.Entry<Long, List<OpenFile>> e : open.entrySet()) {
                if (!e.getValue().isEmpty()) {
                    assertThat(cluster.names().exists(e.getKey())).as("seed %d", seed).isTrue();
                }
            }
        }
        for (List<OpenFile> handles : open.values()) {
            for (OpenFile file : handles) {
                assertThat(read(file, 0, 10)).as("seed %d", seed).isEqualTo("abc");
                get(file.release());
            }
        }
        await("seed " + seed)
                .until(() ->
                        reads.count() == 0
                                && open.keySet().stream()
                                        .allMatch(i ->
                                                named.contains(i) == cluster.names().exists(i)));
    }

    private static List<OpenFile> handles(Map<Long, List<OpenFile>> open, long inode) {
        return open.computeIfAbsent(inode, i -> new ArrayList<>());
    }
}
