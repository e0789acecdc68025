package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOpType;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Size, times, ceiling, truncation and opens of files. Chunks are 64 KiB. */
class SizeTest extends ClientFixture {
    private static final int CHUNK = 1 << 16;
    private static final String NEVER = "publish_interval = \"1min\"";

    private Attr atMds(OpenFile file) {
        return cluster.names().attr(file.inode());
    }

    private Attr setMtime(CairnClient client, OpenFile file, Timespec mtime) {
        return get(
                client.setAttr(
                        SetAttrOp.newBuilder().setInode(file.inode()).setMtime(mtime).build(),
                        WHO));
    }

    private long mutations(String kind) {
        return cluster.names().executed().stream().filter(m -> m.endsWith(" " + kind)).count();
    }

    @Test
    void fsyncCommitsASizeThatGrewAndNothingElse() {
        OpenFile file = create(connect(NEVER), "f");
        get(write(file, 0, "abc"));
        assertThat(atMds(file).getSize()).isZero();
        get(file.fsync());
        assertThat(atMds(file).getSize()).isEqualTo(3);
        get(write(file, 0, "xyz"));
        get(file.fsync());
        assertThat(mutations("GROW")).isEqualTo(1);
        get(file.flush());
        assertThat(mutations("GROW")).isEqualTo(2);
        get(file.flush());
        assertThat(mutations("GROW")).isEqualTo(2);
    }

    @Test
    void extendingNeverShrinksWhatAnotherClientWrote() {
        OpenFile file = create(connect(NEVER), "f");
        OpenFile other = get(connect(NEVER).open(file.inode()));
        get(write(other, 90, "0123456789"));
        get(other.flush());
        get(file.extend(50)); // does not know of the other's size
        assertThat(atMds(file).getSize()).isEqualTo(100);
        get(file.extend(200));
        assertThat(atMds(file).getSize()).isEqualTo(200);
        assertThat(read(file, 95, 10)).isEqualTo("56789\0\0\0\0\0");
    }

    @Test
    void fsyncWaitsForTheWritesBeforeIt() {
        OpenFile file = create(connect(NEVER), "f");
        cluster.data().forEach(d -> d.faults(op -> Fault.HOLD));
        CompletableFuture<Void> written = write(file, 0, "abc");
        CompletableFuture<Void> synced = file.fsync();
        await().until(() -> cluster.data(0).held() + cluster.data(1).held() == 1);
        assertThat(synced).isNotDone();
        cluster.data().forEach(d -> d.letGo(new Random(1)));
        get(synced);
        get(written);
        assertThat(atMds(file).getSize()).isEqualTo(3);
    }

    @Test
    void whatNobodySyncsIsPublishedSoon() {
        OpenFile file = create(connect("publish_interval = \"100ms\""), "f");
        get(write(file, 0, "abc"));
        await().until(() -> atMds(file).getSize() == 3);
        assertThat(atMds(file).getMtime().getSeconds()).isPositive();
    }

    @Test
    void ownWritesAreSeenBeforeTheMdsKnows() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        assertThat(get(client.getAttr(file.inode())).getSize()).isEqualTo(3);
        assertThat(get(client.lookup(1, bytes("f"))).getSize()).isEqualTo(3);
        assertThat(get(client.readDir(1, 0, 1000, true)).getEntries(0).getAttr().getSize())
                .isEqualTo(3);
        assertThat(atMds(file).getSize()).isZero();
    }

    @Test
    void releaseCarriesWhatWasNotPublished() {
        OpenFile file = create(connect(NEVER), "f");
        get(write(file, 0, "abc"));
        get(file.release());
        assertThat(atMds(file).getSize()).isEqualTo(3);
        assertThat(cluster.names().executed()).containsExactly("1 CREATE", "2 RELEASE");
        assertThat(cluster.names().opens(file.inode())).isZero();
    }

    @Test
    void handlesOfOneClientShareOneOpen() {
        CairnClient client = connect(NEVER);
        OpenFile first = create(client, "f");
        OpenFile second = get(client.open(first.inode()));
        get(write(first, 0, "abc"));
        assertThat(second.attr().getSize()).isEqualTo(3);
        assertThat(read(second, 0, 9)).isEqualTo("abc");
        assertThat(mutations("OPEN")).isZero();
        get(first.release());
        assertThat(cluster.names().opens(first.inode())).isEqualTo(1);
        get(client.unlink(1, bytes("f")));
        assertThat(read(second, 0, 9)).isEqualTo("abc");
        get(second.release());
        await().until(() -> !cluster.names().exists(first.inode()));
        assertThat(errno(client.open(first.inode()))).isEqualTo(Errno.ENOENT);
    }

    @Test
    void theCeilingIsCommittedBeforeDataBeyondItIsSent() {
        OpenFile file = create(connect(NEVER), "f");
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        CompletableFuture<Void> written = write(file, CHUNK, "abc");
        await().until(() -> cluster.mds(0).held() == 1);
        assertThat(cluster.data(0).received()).isEmpty();
        assertThat(cluster.data(1).received()).isEmpty();
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        get(written);
        assertThat(atMds(file).getSizeCeiling()).isEqualTo(2 * CHUNK);
        for (int i = 2; i < 64; i++) {
            get(write(file, (long) i * CHUNK, "abc"));
        }
        assertThat(mutations("RAISE_CEILING")).isEqualTo(6);
    }

    @Test
    void truncateStandsAmongTheWrites() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        List<CompletableFuture<?>> all =
                List.of(
                        write(file, 0, "abcdefgh"),
                        resize(client, file, 4),
                        write(file, 6, "x"),
                        resize(client, file, 10),
                        resize(client, file, 5),
                        resize(client, file, 8));
        all.forEach(ClientFixture::get);
        assertThat(read(file, 0, 100)).isEqualTo("abcd\0\0\0\0");
        assertThat(atMds(file).getSize()).isEqualTo(8);
        assertThat(atMds(file).getTruncateSequence()).isEqualTo(2);
    }

    @Test
    void aSizeThisClientMadeIsPublishedBeforeItIsCut() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abcdefgh"));
        get(resize(client, file, 4)); // to the MDS, which knew of 0, it must be a shrink
        get(resize(client, file, 8));
        assertThat(read(file, 0, 100)).isEqualTo("abcd\0\0\0\0");
    }

    @Test
    void tooManyTruncationsArePatientlyRepeated() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abcdefghij"));
        for (int size = 9; size > 0; size--) {
            get(resize(client, file, size));
        }
        assertThat(read(file, 0, 100)).isEqualTo("a");
    }

    @Test
    void aTruncationByAnotherClientIsLearned() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        cluster.names().resizeBehind(file.inode(), 4);
        cluster.chunks().settleTruncations(file.inode());
        get(write(file, 6, "gh"));
        assertThat(cluster.data(0).received().size() + cluster.data(1).received().size())
                .isEqualTo(3); // the write, refused once for what it did not know
        assertThat(read(file, 0, 100)).isEqualTo("abcd\0\0gh");
    }

    @Test
    void growthByAnotherClientIsSeenByOpen() {
        CairnClient writer = connect();
        CairnClient reader = connect();
        OpenFile out = create(writer, "f");
        OpenFile first = get(reader.open(out.inode()));
        get(write(out, 0, "abc"));
        get(out.flush());
        OpenFile second = get(reader.open(out.inode()));
        assertThat(second.attr().getSize()).isEqualTo(3);
        assertThat(read(second, 0, 10)).isEqualTo("abc");
        assertThat(read(first, 0, 10)).isEqualTo("abc");
    }

    @Test
    void anExplicitTimeIsNotOverwrittenByAnEarlierWrite() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        Timespec past = Timespec.newBuilder().setSeconds(1_000_000).setNanos(5).build();
        Attr set = setMtime(client, file, past);
        assertThat(set.getMtime()).isEqualTo(past);
        assertThat(set.getSize()).isEqualTo(3);
        get(file.flush());
        get(file.release());
        assertThat(atMds(file).getMtime()).isEqualTo(past);
    }

    @Test
    void aWriteTakesBackAnMtimeFromTheFuture() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        Timespec future = Timespec.newBuilder().setSeconds(4_070_908_800L).build();
        Attr set = setMtime(client, file, future);
        assertThat(set.getMtime()).isEqualTo(future);
        assertThat(file.attr().getMtime()).isEqualTo(future);
        get(write(file, 0, "abc"));
        Timespec shown = file.attr().getMtime();
        assertThat(shown.getSeconds()).as("before the MDS knows").isLessThan(future.getSeconds());
        get(file.flush());
        assertThat(atMds(file).getMtime()).isEqualTo(shown);
        assertThat(file.attr().getMtime()).isEqualTo(shown);
        // And set again, it stays when the file is closed.
        get(write(file, 0, "abc"));
        get(
                client.setAttr(
                        SetAttrOp.newBuilder().setInode(file.inode()).setMtime(future).build(),
                        WHO));
        assertThat(file.attr().getMtime()).isEqualTo(future);
        get(file.flush());
        get(file.release());
        assertThat(atMds(file).getMtime()).isEqualTo(future);
    }

    @Test
    void aWriteTakesPrivilegesBeforeItIsAcknowledged() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        get(
                client.setAttr(
                        SetAttrOp.newBuilder().setInode(file.inode()).setMode(06755).build(), WHO));
        get(file.write(0, buffer("a"), false));
        assertThat(atMds(file).getMode()).isEqualTo(0106755);
        get(file.write(0, buffer("a"), true));
        assertThat(atMds(file).getMode()).isEqualTo(0100755);
        long mutations = cluster.names().executed().size();
        get(file.write(0, buffer("a"), true));
        assertThat(cluster.names().executed()).hasSize((int) mutations);
        // A later chmod is not undone by that write either.
        get(
                client.setAttr(
                        SetAttrOp.newBuilder().setInode(file.inode()).setMode(04755).build(), WHO));
        get(file.flush());
        assertThat(atMds(file).getMode()).isEqualTo(0104755);
    }

    @Test
    void writesWaitForATruncationThatIsLateEvenIfItsCallerDoesNot() {
        CairnClient client = connect(NEVER, "metadata_timeout = \"300ms\"");
        OpenFile file = create(client, "f");
        get(write(file, 0, "abcdefgh"));
        get(file.flush());
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        assertThat(errno(resize(client, file, 2))).isEqualTo(Errno.ETIMEDOUT);
        CompletableFuture<Void> written = write(file, 4, "xy");
        assertThat(written).isNotDone();
        cluster.mds(0).faults(m -> Fault.NONE);
        cluster.mds(0).letGo();
        get(written);
        assertThat(read(file, 0, 100)).isEqualTo("ab\0\0xy");
        assertThat(
                        cluster.data(0).received().stream()
                                .filter(op -> op.type() == DataOpType.WRITE)
                                .count())
                .isLessThanOrEqualTo(2);
    }

    @Test
    void aPublicationThatFailsIsTriedAgain() {
        CairnClient client = connect("publish_interval = \"100ms\"");
        OpenFile file = create(client, "f");
        cluster.mds(0).faults(m -> m == Method.MUTATE ? Fault.CUT_AFTER : Fault.NONE);
        get(write(file, 0, "abc"));
        CompletableFuture<Void> synced = file.fsync();
        await().until(() -> atMds(file).getSize() == 3);
        cluster.mds(0).faults(m -> Fault.NONE);
        get(synced);
        assertThat(mutations("GROW")).isEqualTo(1);
    }
}
