package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.FakeDataServer;
import io.cairn.client.fake.FakeDelegations;
import io.cairn.client.fake.FakeMds;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOpType;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Writes to delegated files, which are answered before they are durable. */
class WriteBehindTest extends ClientFixture {
    private static final int CHUNK = 1 << 20;

    private FakeDelegations delegations;

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(1, 2, FakeCluster.layout(CHUNK, 1, CHUNK));
    }

    @BeforeEach
    void allow() {
        delegations = cluster.names().delegations();
        delegations.allow(true);
    }

    private void writes(Fault fault) {
        cluster.data()
                .forEach(server ->
                        server.faults(op -> op.type() == DataOpType.WRITE ? fault : Fault.NONE));
    }

    private int held() {
        return cluster.data().stream().mapToInt(server -> server.held()).sum();
    }

    private void letGo() {
        letGo(new Random(1));
    }

    private void letGo(Random random) {
        writes(Fault.NONE);
        cluster.data().forEach(server -> server.letGo(random));
    }

    private static CompletableFuture<Void> behind(OpenFile file, long offset, String text) {
        return file.writeBehind(offset, buffer(text), false);
    }

    private long committed(OpenFile file) {
        return cluster.names().attr(file.inode()).getSize();
    }

    @Test
    void aWriteIsAnsweredBeforeItIsDurableAndASyncIsNot() {
        CairnClient client = delegating();
        OpenFile file = create(client, "f");
        writes(Fault.HOLD);
        get(behind(file, 0, "abc"));
        await().until(() -> held() == 1);
        assertThat(get(client.getAttr(file.inode())).getSize()).isEqualTo(3);
        get(file.flush());
        CompletableFuture<Void> synced = file.fsync();
        CompletableFuture<Void> direct = write(file, 1, "x");
        assertThat(synced.isDone()).isFalse();
        assertThat(direct.isDone()).isFalse();
        assertThat(committed(file)).isZero();
        letGo();
        get(synced);
        get(direct);
        assertThat(committed(file)).isEqualTo(3);
        assertThat(read(file, 0, 10)).isEqualTo("axc");
    }

    @Test
    void moreThanMayBeOnItsWayWaits() {
        CairnClient client = delegating("write_behind = \"4B\"");
        OpenFile file = create(client, "f");
        writes(Fault.HOLD);
        get(behind(file, 0, "abc"));
        CompletableFuture<Void> second = behind(file, 3, "de");
        await().until(() -> held() == 2);
        assertThat(second.isDone()).isFalse();
        letGo();
        get(second);
        get(behind(file, 5, "fgh"));
        get(file.fsync());
        assertThat(read(file, 0, 10)).isEqualTo("abcdefgh");
    }

    /** Its space is promised first: the MDS may refuse it. */
    @Test
    void aWriteThatNeedsAHigherCeilingWaits() {
        CairnClient client = delegating();
        OpenFile file = create(client, "f");
        FakeMds mds = cluster.mds(0);
        mds.faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        CompletableFuture<Void> far = behind(file, CHUNK, "abc");
        await().until(() -> mds.held() == 1);
        assertThat(far.isDone()).isFalse();
        mds.faults(m -> Fault.NONE);
        mds.letGo();
        get(far);
        writes(Fault.HOLD);
        get(behind(file, CHUNK + 3, "def"));
        letGo();
    }

    @Test
    void aFileThatWasThereBeforeWaits() {
        OpenFile made = create(delegating(), "f");
        delegations.allow(false);
        CairnClient other = connect();
        OpenFile file = get(other.open(made.inode()));
        writes(Fault.HOLD);
        CompletableFuture<Void> written = behind(file, 0, "abc");
        await().until(() -> held() == 1);
        assertThat(written.isDone()).isFalse();
        letGo();
        get(written);
    }

    @Test
    void whatFailsLaterIsToldBySyncAndCloseAndLaterWrites() {
        CairnClient client = delegating();
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        writes(Fault.HOLD); // else it may fail before it is answered
        get(behind(file, 3, "def"));
        await().until(() -> held() == 1);
        cluster.data().forEach(FakeDataServer::refuseHeld);
        assertThat(errno(file.fsync())).isEqualTo(Errno.ENOSPC);
        assertThat(errno(file.flush())).isEqualTo(Errno.ENOSPC);
        writes(Fault.NONE);
        assertThat(errno(behind(file, 0, "x"))).isEqualTo(Errno.ENOSPC);
        assertThat(get(client.getAttr(file.inode())).getSize()).isEqualTo(3);
        OpenFile again = get(client.open(file.inode()));
        get(behind(again, 3, "ghi"));
        get(again.fsync());
        assertThat(read(again, 0, 10)).isEqualTo("abcghi");
        assertThat(committed(file)).isEqualTo(6);
    }

    @Test
    void whatIsOnItsWayWhenTheSessionEndsIsLost() {
        CairnClient client = delegating();
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        get(file.fsync());
        writes(Fault.HOLD);
        get(behind(file, 3, "def"));
        get(behind(file, 4, "xyz")); // waits for the one before
        await().until(() -> held() == 1);
        cluster.evict(cluster.names().onlySession());
        letGo();
        assertThat(errno(file.fsync())).isEqualTo(Errno.EIO);
        OpenFile again = get(client.open(file.inode()));
        assertThat(read(again, 0, 10)).isEqualTo("abc");
        assertThat(get(client.getAttr(file.inode())).getSize()).isEqualTo(3);
    }

    @Test
    void timesThatAreSetStandThoughTheDataComesLater() {
        CairnClient client = delegating("publish_interval = \"50ms\"");
        OpenFile file = create(client, "f");
        writes(Fault.HOLD);
        get(behind(file, 0, "abc"));
        Timespec past = Timespec.newBuilder().setSeconds(1_000).setNanos(5).build();
        Attr told =
                get(
                        client.setAttr(
                                SetAttrOp.newBuilder()
                                        .setInode(file.inode())
                                        .setMtime(past)
                                        .build(),
                                WHO));
        assertThat(told.getMtime()).isEqualTo(past);
        await().until(() -> cluster.names().attr(file.inode()).getMtime().equals(past));
        letGo();
        await().until(() -> committed(file) == 3);
        assertThat(cluster.names().attr(file.inode()).getMtime()).isEqualTo(past);
        assertThat(cluster.names().attr(file.inode()).getCtime()).isEqualTo(told.getCtime());
    }

    @Test
    void aRecalledFileIsReturnedWhenItsDataIsDurable() {
        CairnClient client = delegating();
        OpenFile file = create(client, "f");
        List<Attr> shown = new ArrayList<>();
        delegations.onReturn(inode -> shown.add(cluster.names().attr(inode)));
        writes(Fault.HOLD);
        get(behind(file, 0, "abc"));
        FakeMds mds = cluster.mds(0);
        mds.recallDelegations(cluster.names().onlySession(), file.inode());
        await().until(() -> {
            CompletableFuture<Void> more = behind(file, 3, "x");
            return !more.isDone();
        });
        assertThat(delegations.isHeld(file.inode())).isTrue();
        letGo();
        await().until(() -> !delegations.isHeld(file.inode()));
        assertThat(shown.getFirst().getSize()).isGreaterThanOrEqualTo(3);
        assertThat(read(file, 0, 3)).isEqualTo("abc");
    }

    @Test
    void aFileIsClosedBehindItsWrites() {
        CairnClient client = delegating();
        OpenFile file = create(client, "f");
        writes(Fault.HOLD);
        get(behind(file, 0, "abc"));
        get(file.flush());
        CompletableFuture<Void> released = file.release();
        OpenFile again = get(client.open(file.inode()));
        CompletableFuture<ByteBuf> reading = again.read(0, 3);
        assertThat(reading.isDone()).isFalse();
        letGo();
        assertThat(text(get(reading))).isEqualTo("abc");
        get(released);
        get(again.release());
        await().until(() -> cluster.names().opens(file.inode()) == 0);
        assertThat(committed(file)).isEqualTo(3);
    }

    private static byte[] content(CairnClient reader, long inode, long size) {
        OpenFile file = get(reader.open(inode));
        ByteBuf read = get(file.read(0, (int) size));
        byte[] bytes = new byte[read.readableBytes()];
        read.readBytes(bytes).release();
        get(file.release());
        return bytes;
    }

    /** Random writes that land in any order: what is committed never covers bytes to come. */
    @Test
    void noSizeCoversBytesThatAreNotDurable() {
        Random random = TestSeed.random("WriteBehindTest");
        CairnClient client = delegating("publish_interval = \"50ms\"");
        delegations.allow(false);
        CairnClient reader = connect();
        for (int round = 0; round < 10; round++) {
            OpenFile file = create(client, "f" + round);
            byte[] expected = new byte[CHUNK];
            int end = 0;
            for (int step = 0; step < 30; step++) {
                if (random.nextInt(3) == 0) {
                    letGo(random);
                }
                writes(Fault.HOLD);
                int length = 1 + random.nextInt(CHUNK / 32);
                int from = random.nextInt(4) == 0 && end > 0 ? random.nextInt(end) : end;
                byte[] data = new byte[length];
                Arrays.fill(data, (byte) (1 + random.nextInt(250)));
                get(file.writeBehind(from, Unpooled.directBuffer(length).writeBytes(data), false));
                System.arraycopy(data, 0, expected, from, length);
                end = Math.max(end, from + length);
                long size = committed(file);
                for (byte b : content(reader, file.inode(), size)) {
                    assertThat(b).as("of %d, round %d", size, round).isNotZero();
                }
            }
            letGo(random);
            get(file.fsync());
            assertThat(committed(file)).isEqualTo(end);
            assertThat(content(reader, file.inode(), end)).isEqualTo(Arrays.copyOf(expected, end));
        }
    }
}
