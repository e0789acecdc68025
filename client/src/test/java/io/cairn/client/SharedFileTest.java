package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Method;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * One client truncates a file that another one holds open and writes, without having heard of the
 * truncation. Chunks are 64 KiB.
 */
class SharedFileTest extends ClientFixture {
    private static final int CHUNK = 1 << 16;
    private static final String NEVER = "publish_interval = \"1min\"";

    private CairnClient writer;
    private CairnClient cutter;

    /** The writer's handle. */
    private OpenFile file;

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(2, 2, FakeCluster.layout(CHUNK, 1, CHUNK));
    }

    @BeforeEach
    void openBoth() {
        writer = connect(NEVER);
        cutter = connect(NEVER, "metadata_timeout = \"2s\"");
        file = create(writer, "f");
    }

    private Attr atMds() {
        return cluster.names().attr(file.inode());
    }

    private CompletableFuture<?> cut(long size) {
        return resize(cutter, file, size);
    }

    private void waits(Fault fault) {
        for (int i = 0; i < 2; i++) {
            cluster.mds(i).faults(m -> m == Method.WAIT_TRUNCATED ? fault : Fault.NONE);
        }
    }

    private void letGo() {
        Random random = new Random(1);
        cluster.data().forEach(d -> d.faults(op -> Fault.NONE));
        cluster.data().forEach(d -> d.letGo(random));
    }

    private int held() {
        return cluster.data().stream().mapToInt(d -> d.held()).sum();
    }

    // ---- the truncation is answered when it is on all chunks

    @Test
    void whoeverCutsIsAnsweredWhenAllChunksAreCutAndWritesMeanwhile() {
        OpenFile cutters = get(cutter.open(file.inode()));
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        waits(Fault.HOLD);
        CompletableFuture<?> cut = cut(2);
        await().until(() -> cluster.mds(0).held() == 1);
        get(write(cutters, 4, "xy"));
        get(cutters.flush());
        assertThat(read(cutters, 0, 100)).isEqualTo("ab\0\0xy");
        assertThat(cut).isNotDone();
        waits(Fault.NONE);
        cluster.mds(0).letGo();
        get(cut);
        assertThat(atMds().getPendingTruncationsList()).isEmpty();
        assertThat(read(file, 0, 100)).isEqualTo("ab\0\0xy");
    }

    @Test
    void theMdsIsAskedUntilItSaysSo() {
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        cluster.mds(0).truncatesLate(3);
        AtomicInteger asked = new AtomicInteger();
        cluster.mds(0)
                .faults(m -> {
                    asked.addAndGet(m == Method.WAIT_TRUNCATED ? 1 : 0);
                    return Fault.NONE;
                });
        get(cut(2));
        assertThat(asked).hasValue(4);
    }

    @Test
    void andTheNextLeaderWhenItChanges() {
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        waits(Fault.HOLD);
        CompletableFuture<?> cut = cut(2);
        await().until(() -> cluster.mds(0).held() == 1);
        waits(Fault.NONE);
        cluster.leader(cluster.mds(1));
        cluster.mds(0).letGo(); // says that it does not lead
        get(cut);
        assertThat(atMds().getPendingTruncationsList()).isEmpty();
    }

    @Test
    void whoeverWaitsTooLongIsToldSoAndTheRestGoesOn() {
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        waits(Fault.HOLD);
        assertThat(errno(cut(2))).isEqualTo(Errno.ETIMEDOUT);
        assertThat(get(cutter.getAttr(file.inode())).getSize()).isEqualTo(2);
        OpenFile cutters = get(cutter.open(file.inode()));
        get(write(cutters, 2, "cd"));
        assertThat(read(cutters, 0, 100)).isEqualTo("abcd");
    }

    @Test
    void aFileThatNobodyElseHasOpenIsCutWithoutWaiting() {
        get(write(file, 0, "abcdefgh"));
        waits(Fault.CUT_BEFORE);
        get(resize(writer, file, 2));
        assertThat(read(file, 0, 100)).isEqualTo("ab");
    }

    // ---- what is written later stays

    @Test
    void aWriteByOneThatHasNotHeardOfTheCutIsSentBackAndStaysWithItsSize() {
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        get(cut(0));
        get(write(file, 1, "xy")); // shorter than the file was
        get(file.fsync());
        assertThat(atMds().getSize()).isEqualTo(3);
        OpenFile cutters = get(cutter.open(file.inode()));
        assertThat(read(cutters, 0, 100)).isEqualTo("\0xy");
        assertThat(read(file, 0, 100)).isEqualTo("\0xy");
    }

    @Test
    void aReadEndsWhereTheOtherHasCut() {
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        get(cut(3));
        assertThat(read(file, 0, 8)).isEqualTo("abc");
        get(cut(0));
        assertThat(read(file, 1, 2)).isEmpty();
    }

    @Test
    void anExtensionCountsAlthoughTheCutWasNotHeardOf() {
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        get(cut(0));
        get(file.extend(5));
        assertThat(atMds().getSize()).isEqualTo(5);
        assertThat(file.attr().getSize()).isEqualTo(5);
        assertThat(read(file, 0, 100)).isEqualTo("\0\0\0\0\0");
    }

    // ---- whoever opens sees what was closed before

    @Test
    void anOpenDoesNotTakeTheAnswerToAnEarlierQuestion() {
        OpenFile first = get(cutter.open(file.inode()));
        cluster.mds(0).faults(m -> m == Method.GET_ATTR ? Fault.LATE : Fault.NONE);
        CompletableFuture<OpenFile> before = cutter.open(file.inode());
        await().until(() -> cluster.mds(0).held() == 1);
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        CompletableFuture<OpenFile> after = cutter.open(file.inode());
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        assertThat(get(after).attr().getSize()).isEqualTo(8);
        assertThat(read(get(after), 0, 100)).isEqualTo("abcdefgh");
        get(before);
        assertThat(first.attr().getSize()).isEqualTo(8);
    }

    @Test
    void opensOfTheSameTimeShareOneQuestion() {
        var _ = get(cutter.open(file.inode()));
        AtomicInteger asked = new AtomicInteger();
        cluster.mds(0)
                .faults(m -> {
                    boolean first = m == Method.GET_ATTR && asked.incrementAndGet() == 1;
                    return first ? Fault.LATE : Fault.NONE;
                });
        CompletableFuture<OpenFile> before = cutter.open(file.inode());
        await().until(() -> cluster.mds(0).held() == 1);
        List<CompletableFuture<OpenFile>> all = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            all.add(cutter.open(file.inode()));
        }
        cluster.mds(0).letGo();
        get(before);
        all.forEach(ClientFixture::get);
        assertThat(asked).hasValue(2);
    }

    // ---- what was written earlier does not come back

    @Test
    void aSizeFromBeforeTheCutIsNotPublishedByAFlush() {
        get(write(file, 0, "abcdefgh"));
        get(cut(0)); // the MDS has never heard of another size
        get(file.flush());
        assertThat(atMds().getSize()).isZero();
        assertThat(file.attr().getSize()).isZero();
    }

    @Test
    void norByTheClose() {
        get(write(file, 0, "abcd"));
        get(file.flush());
        get(write(file, 0, "abcdefgh"));
        get(cut(1));
        get(file.release());
        assertThat(atMds().getSize()).isEqualTo(1);
    }

    @Test
    void norIsItShownOnceTheCutIsHeardOf() {
        get(write(file, 0, "abcdefgh"));
        assertThat(file.attr().getSize()).isEqualTo(8);
        get(cut(3));
        assertThat(get(writer.getAttr(file.inode())).getSize()).isEqualTo(3);
        assertThat(file.attr().getSize()).isEqualTo(3);
        assertThat(read(file, 0, 100)).isEqualTo("abc");
    }

    /** Executed before the cut, and answered after it: to a repetition that knows of it. */
    @Test
    void whatWasExecutedBeforeTheCutIsFromBeforeItHoweverLateItsAnswer() {
        AtomicInteger attempts = new AtomicInteger();
        cluster.data()
                .forEach(d ->
                        d.faults(op ->
                                attempts.incrementAndGet() == 1 ? Fault.CUT_AFTER : Fault.RETRY));
        CompletableFuture<Void> written = write(file, 0, "abcdefgh");
        await().until(() -> attempts.get() > 1);
        get(cut(0));
        assertThat(get(writer.getAttr(file.inode())).getTruncateSequence()).isEqualTo(1);
        letGo();
        get(written);
        get(file.flush());
        assertThat(atMds().getSize()).isZero();
        assertThat(cluster.chunks().executed()).isEqualTo(1);
    }

    @Test
    void aWriteIsBeforeTheCutOrAfterItAsAWhole() {
        get(file.extend(2 * CHUNK)); // nothing but data requests is needed below
        cluster.data().forEach(d -> d.faults(op -> op.chunk() == 1 ? Fault.HOLD : Fault.NONE));
        String text = "x".repeat(CHUNK) + "yz";
        CompletableFuture<Void> written = write(file, 0, text);
        await().until(() -> held() == 1 && cluster.chunks().executed() == 1);
        get(cut(0)); // takes the first piece
        letGo(); // and sends back the second one
        get(written);
        get(file.flush());
        assertThat(atMds().getSize()).isEqualTo(text.length());
        assertThat(read(file, 0, 2 * CHUNK)).isEqualTo(text);
    }
}
