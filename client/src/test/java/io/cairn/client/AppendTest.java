package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpType;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.SetAttrOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Appends by one client and by several. Chunks are 64 KiB. */
class AppendTest extends ClientFixture {
    private static final int CHUNK = 1 << 16;
    private static final int LEASE_MICROS = 60_000_000;
    private static final String NEVER = "publish_interval = \"1min\"";

    private static OpenFile createToAppend(CairnClient client) {
        return get(client.create(client.rootInode(), bytes("f"), REGULAR, true, true, WHO));
    }

    private void faults(Function<DataOp, Fault> decide) {
        cluster.data().forEach(d -> d.faults(decide));
    }

    private int held() {
        return cluster.data(0).held() + cluster.data(1).held();
    }

    private void letGo() {
        faults(op -> Fault.NONE);
        cluster.data().forEach(d -> d.letGo(new Random(1)));
    }

    private List<String> executed() {
        return cluster.names().executed().stream().map(m -> m.replaceFirst("\\d+ ", "")).toList();
    }

    @Test
    void aLoneAppenderAsksForNothing() {
        CairnClient client = connect(NEVER);
        OpenFile file = createToAppend(client);
        assertThat(get(append(file, "abc"))).isZero();
        assertThat(get(append(file, "defg"))).isEqualTo(3);
        assertThat(read(file, 0, 100)).isEqualTo("abcdefg");
        get(file.release());
        OpenFile again = get(client.open(file.inode(), true));
        assertThat(get(append(again, "h"))).isEqualTo(7);
        get(again.fsync());
        get(again.release());
        await().until(() -> cluster.names().appender(file.inode()) == 0);
        assertThat(executed()).containsExactly("CREATE", "RELEASE", "OPEN", "GROW", "RELEASE");
    }

    @Test
    void whoDidNotOpenToAppendAsksOnce() {
        CairnClient client = connect(NEVER);
        OpenFile file = create(client, "f");
        OpenFile second = get(client.open(file.inode(), true)); // no open of its own at the MDS
        get(append(file, "abc"));
        get(append(second, "def"));
        assertThat(read(file, 0, 100)).isEqualTo("abcdef");
        assertThat(executed()).containsExactly("CREATE", "ACQUIRE_APPEND");
    }

    @Test
    void theSecondClientBeginsWhereTheFirstEnded() {
        OpenFile one = createToAppend(connect(NEVER));
        OpenFile two = get(connect(NEVER).open(one.inode(), true));
        get(append(one, "one,"));
        assertThat(get(append(two, "two,"))).isEqualTo(4);
        assertThat(get(append(one, "three,"))).isEqualTo(8);
        get(two.fsync());
        assertThat(get(append(two, "four"))).isEqualTo(14);
        get(two.flush());
        assertThat(read(get(connect().open(one.inode())), 0, 100)).isEqualTo("one,two,three,four");
        assertThat(withoutRepetitions(executed()))
                .startsWith("CREATE", "OPEN", "RETURN_APPEND", "ACQUIRE_APPEND", "RETURN_APPEND");
    }

    /** A recall that crosses the return it asks for is answered by another return. */
    private static List<String> withoutRepetitions(List<String> executed) {
        List<String> without = new ArrayList<>();
        for (String name : executed) {
            if (without.isEmpty() || !without.getLast().equals(name)) {
                without.add(name);
            }
        }
        return without;
    }

    @Test
    void appendsOfOneClientStandInTheOrderOfTheirCalls() {
        OpenFile file = createToAppend(connect(NEVER));
        StringBuilder expected = new StringBuilder();
        List<CompletableFuture<Long>> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            String text = i + ";";
            expected.append(text);
            all.add(append(file, text));
        }
        all.forEach(ClientFixture::get);
        assertThat(read(file, 0, 10_000)).isEqualTo(expected.toString());
    }

    @Test
    void oneThatFailsLeavesNeitherAHoleNorASize() {
        OpenFile file = createToAppend(connect(NEVER));
        get(append(file, "abc"));
        faults(op -> op.length() == 5 ? Fault.FULL : Fault.NONE);
        CompletableFuture<Long> fails = append(file, "12345");
        CompletableFuture<Long> next = append(file, "def");
        assertThat(errno(fails)).isEqualTo(Errno.ENOSPC);
        assertThat(get(next)).isEqualTo(3);
        assertThat(errno(append(file, "12345"))).isEqualTo(Errno.ENOSPC);
        assertThat(file.attr().getSize()).isEqualTo(6);
        get(file.flush());
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(6);
        assertThat(read(file, 0, 100)).isEqualTo("abcdef");
    }

    @Test
    void oneOverTwoChunksOfWhichTheSecondFailsIsRepeatedWhole() {
        OpenFile file = createToAppend(connect(NEVER));
        get(append(file, "x".repeat(CHUNK - 2)));
        faults(op -> op.chunk() == 1 ? Fault.FULL : Fault.NONE);
        assertThat(errno(append(file, "abcdef"))).isEqualTo(Errno.ENOSPC);
        assertThat(file.attr().getSize()).isEqualTo(CHUNK - 2);
        faults(op -> Fault.NONE);
        assertThat(get(append(file, "uvwxyz"))).isEqualTo(CHUNK - 2);
        assertThat(read(file, CHUNK - 3, 100)).isEqualTo("xuvwxyz");
    }

    @Test
    void aTruncationByAnotherClientIsLearnedFromTheDataServer() {
        OpenFile file = createToAppend(connect(NEVER));
        get(append(file, "abcdef"));
        get(file.flush());
        cluster.names().resizeBehind(file.inode(), 0);
        cluster.chunks().settleTruncations(file.inode());
        assertThat(get(append(file, "new"))).isZero();
        get(file.flush());
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(3);
        assertThat(read(file, 0, 100)).isEqualTo("new");
    }

    @Test
    void aTruncationLearnedWhileTheDataIsSentMakesTheOffsetAnew() {
        CairnClient client = connect(NEVER);
        OpenFile file = createToAppend(client);
        get(append(file, "abcdef"));
        get(file.flush());
        faults(op -> op.type() == DataOpType.WRITE ? Fault.HOLD : Fault.NONE);
        CompletableFuture<Long> appended = append(file, "new");
        await().until(() -> held() == 1);
        cluster.names().resizeBehind(file.inode(), 2);
        get(client.getAttr(file.inode())); // the chunk does not know of it, this client does
        letGo();
        assertThat(get(appended)).isEqualTo(2);
        cluster.chunks().settleTruncations(file.inode());
        assertThat(read(file, 0, 100)).isEqualTo("abnew");
    }

    @Test
    void aTruncationLearnedWithTheCeilingMakesTheOffsetAnew() {
        OpenFile file = createToAppend(connect(NEVER));
        get(append(file, "x".repeat(CHUNK - 1)));
        get(file.flush());
        cluster.names().resizeBehind(file.inode(), 1);
        assertThat(get(append(file, "yy"))).isEqualTo(1); // needed the second chunk before
        get(file.flush());
        assertThat(read(file, 0, 100)).isEqualTo("xyy");
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(3);
    }

    @Test
    void whatAnotherClientHasWrittenAndPublishedStaysWithoutALease() {
        OpenFile one = createToAppend(connect(NEVER));
        get(append(one, "one,"));
        get(one.fsync());
        OpenFile two = get(connect(NEVER).open(one.inode()));
        get(write(two, 4, "two,"));
        get(two.fsync());
        assertThat(get(append(one, "three"))).isEqualTo(8);
        get(one.fsync());
        assertThat(read(get(connect().open(one.inode())), 0, 100)).isEqualTo("one,two,three");
    }

    /** Opens one to append, whose size is lent; what is to be forgotten stands in the queue. */
    private OpenFile lent(CairnClient client) {
        client.holdLeases((recall, forgotten) -> forgotten.run());
        cluster.mds(0).leases(LEASE_MICROS);
        return get(client.open(create(connect(NEVER), "f").inode(), true));
    }

    private void recallAttributes(long session, long inode, long number) {
        cluster.mds(0)
                .recall(
                        ReadRecall.newBuilder()
                                .setSession(session)
                                .setNumber(number)
                                .addInodes(inode)
                                .build());
    }

    private AtomicInteger attributesAsked() {
        AtomicInteger asked = new AtomicInteger();
        cluster.mds(0)
                .faults(method -> {
                    if (method == Method.GET_ATTR) {
                        asked.incrementAndGet();
                    }
                    return Fault.NONE;
                });
        return asked;
    }

    @Test
    void whileItsSizeIsLentNobodyIsAsked() {
        CairnClient client = connect(NEVER);
        long session = cluster.names().onlySession();
        OpenFile file = lent(client);
        AtomicInteger asked = attributesAsked();
        get(append(file, "abc"));
        get(append(file, "def"));
        get(file.fsync());
        get(append(file, "ghi"));
        assertThat(asked).as("the open has lent it").hasValue(0);
        OpenFile other = get(connect(NEVER).open(file.inode()));
        get(write(other, 6, "other"));
        get(other.fsync());
        recallAttributes(session, file.inode(), 1);
        await().until(() -> cluster.mds(0).acknowledged().size() == 1);
        asked.set(0);
        assertThat(get(append(file, "jkl"))).isEqualTo(11);
        assertThat(get(append(file, "mno"))).isEqualTo(14);
        assertThat(asked).as("for both").hasValue(1);
    }

    @Test
    void aRecallWaitsForTheAppendThatIsOnItsWay() {
        CairnClient client = connect(NEVER);
        long session = cluster.names().onlySession();
        OpenFile file = lent(client);
        get(append(file, "abc"));
        faults(op -> op.type() == DataOpType.WRITE ? Fault.HOLD : Fault.NONE);
        CompletableFuture<Long> appended = append(file, "def");
        await().until(() -> held() == 1);
        recallAttributes(session, file.inode(), 1);
        recallAttributes(session, client.rootInode(), 2);
        await().until(() -> cluster.mds(0).acknowledged().size() == 1);
        assertThat(cluster.mds(0).acknowledged().get(0).getNumbersList()).containsExactly(2L);
        letGo();
        get(appended);
        await().until(() -> cluster.mds(0).acknowledged().size() == 2);
    }

    @Test
    void anOpenWhoseAnswerARecallHasOvertakenLendsNothing() {
        CairnClient client = connect(NEVER);
        long session = cluster.names().onlySession();
        client.holdLeases((recall, forgotten) -> forgotten.run());
        cluster.mds(0).leases(LEASE_MICROS);
        create(client, "g"); // its session is known from now on
        OpenFile made = create(connect(NEVER), "f");
        get(write(made, 0, "abc"));
        get(made.fsync());
        cluster.mds(0).faults(method -> method == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        CompletableFuture<OpenFile> opening = client.open(made.inode(), true);
        recallAttributes(session, made.inode(), 1);
        await().until(() -> cluster.mds(0).acknowledged().size() == 1);
        AtomicInteger asked = attributesAsked();
        cluster.mds(0).letGo();
        get(append(get(opening), "def"));
        assertThat(asked).hasValue(1);
    }

    @Test
    void whileOneWaitsForTheRightTheRestOfTheFileIsFree() {
        OpenFile one = createToAppend(connect(NEVER));
        get(append(one, "abcdef"));
        get(one.flush());
        OpenFile two = get(connect(NEVER).open(one.inode(), true));
        faults(op -> op.type() == DataOpType.WRITE && op.offset() == 6 ? Fault.HOLD : Fault.NONE);
        CompletableFuture<Long> first = append(one, "1");
        await().until(() -> held() == 1);
        CompletableFuture<Long> second = append(two, "2");
        await().until(() -> cluster.mds(0).inLine() == 1 && cluster.mds(0).recalls() > 0);
        assertThat(read(two, 0, 6)).isEqualTo("abcdef");
        assertThat(read(one, 0, 6)).isEqualTo("abcdef");
        get(write(two, 0, "ABC"));
        assertThat(second).isNotDone();
        letGo();
        assertThat(get(first)).isEqualTo(6);
        assertThat(get(second)).isEqualTo(7);
        assertThat(read(two, 0, 100)).isEqualTo("ABCdef12");
    }

    @Test
    void whoWaitsTooLongForTheRightIsToldAndAppendsNothing() {
        OpenFile one = createToAppend(connect(NEVER));
        OpenFile two =
                get(
                        connect("io_timeout = \"300ms\"", "attempt_timeout = \"200ms\"")
                                .open(one.inode(), true));
        faults(op -> Fault.HOLD);
        CompletableFuture<Long> first = append(one, "1");
        await().until(() -> held() == 1);
        assertThat(failure(append(two, "late")))
                .matches(e -> e.errno() == Errno.EIO)
                .hasMessageContaining("right to append");
        letGo();
        get(first);
        assertThat(get(append(one, "2"))).isEqualTo(1);
        get(one.flush());
        assertThat(read(one, 0, 100)).isEqualTo("12");
    }

    @Test
    void oneWhoseDataIsLateIsToldAndTheNextStandsInItsPlace() {
        OpenFile file =
                createToAppend(connect("io_timeout = \"300ms\"", "attempt_timeout = \"200ms\""));
        get(append(file, "a"));
        faults(op -> Fault.RETRY);
        assertThat(errno(append(file, "late"))).isEqualTo(Errno.EIO);
        assertThat(file.attr().getSize()).isEqualTo(1);
        CompletableFuture<Long> behind = append(file, "behind");
        assertThat(errno(behind)).as("waits for the outcome of the first").isEqualTo(Errno.EIO);
        faults(op -> Fault.NONE);
        await().until(() -> cluster.chunks().executed() == 2); // it is known: late, and not counted
        assertThat(get(append(file, "b"))).isEqualTo(1);
        assertThat(file.attr().getSize()).isEqualTo(2);
        assertThat(read(file, 0, 100)).isEqualTo("ab");
    }

    @Test
    void theRightStaysUntilTheOutcomeOfALateAppendIsKnown() {
        OpenFile one =
                createToAppend(connect("io_timeout = \"300ms\"", "attempt_timeout = \"200ms\""));
        OpenFile two = get(connect(NEVER).open(one.inode(), true));
        faults(op -> Fault.RETRY);
        assertThat(errno(append(one, "late"))).isEqualTo(Errno.EIO);
        CompletableFuture<Long> other = append(two, "b");
        await().until(() -> cluster.mds(0).recalls() > 1);
        assertThat(executed()).doesNotContain("RETURN_APPEND");
        assertThat(other).isNotDone();
        faults(op -> Fault.NONE);
        assertThat(get(other)).isZero();
        get(two.flush());
        assertThat(read(two, 0, 100)).isEqualTo("b");
    }

    @Test
    void aRecallThatOvertakesTheGrantDoesNotTakeItUnused() {
        OpenFile file = create(connect(NEVER), "f");
        AtomicInteger acquisitions = new AtomicInteger();
        long session = cluster.names().onlySession();
        cluster.mds(0)
                .faults(m -> {
                    if (m == Method.MUTATE && acquisitions.incrementAndGet() == 1) {
                        return Fault.HOLD;
                    }
                    return Fault.NONE;
                });
        CompletableFuture<Long> appended = append(file, "abc");
        await().until(() -> cluster.mds(0).held() == 1);
        cluster.mds(0).recall(session, file.inode());
        // Answered on the same connection, so the recall has been received.
        get(connect().getAttr(1));
        cluster.mds(0).letGo();
        assertThat(get(appended)).isZero();
        await().until(() -> cluster.names().appender(file.inode()) == 0);
        assertThat(executed()).containsExactly("CREATE", "ACQUIRE_APPEND", "RETURN_APPEND");
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(3);
    }

    @Test
    void theLastCloseGivesTheRightBack() {
        OpenFile one = createToAppend(connect(NEVER));
        OpenFile two = get(connect(NEVER).open(one.inode(), true));
        get(append(one, "abc"));
        get(one.release());
        assertThat(cluster.names().appender(one.inode())).isZero();
        assertThat(get(append(two, "def"))).isEqualTo(3);
        assertThat(executed()).containsExactly("CREATE", "OPEN", "RELEASE", "ACQUIRE_APPEND");
    }

    @Test
    void aHandleClosedBehindAnAppendThatWaitsKeepsTheFileOpen() {
        OpenFile one = createToAppend(connect(NEVER));
        OpenFile two = get(connect(NEVER).open(one.inode(), true));
        faults(op -> Fault.HOLD);
        CompletableFuture<Long> first = append(one, "abc");
        await().until(() -> held() == 1);
        CompletableFuture<Long> second = append(two, "def"); // its process was killed:
        get(two.release());
        letGo();
        get(first);
        assertThat(get(second)).isEqualTo(3);
        await().until(() -> cluster.names().opens(one.inode()) == 1);
        assertThat(cluster.names().attr(one.inode()).getSize()).isEqualTo(6);
    }

    @Test
    void beyondTheLargestSizeIsRefused() {
        OpenFile file = createToAppend(connect(NEVER));
        long most = (1L << 31) * CHUNK;
        assertThat(errno(write(file, most, "x"))).isEqualTo(Errno.EFBIG);
        cluster.names().resizeBehind(file.inode(), most - 1);
        OpenFile again = get(connect(NEVER).open(file.inode(), true));
        assertThat(errno(append(again, "xy"))).isEqualTo(Errno.EFBIG);
        assertThat(get(append(again, "x"))).isEqualTo(most - 1);
        assertThat(errno(append(again, "y"))).isEqualTo(Errno.EFBIG);
        assertThat(again.attr().getSize()).isEqualTo(most);
    }

    @Test
    void itTakesPrivilegesAndRefusesAClosedHandle() {
        CairnClient client = connect(NEVER);
        OpenFile file = createToAppend(client);
        get(
                client.setAttr(
                        SetAttrOp.newBuilder().setInode(file.inode()).setMode(06755).build(), WHO));
        get(file.append(buffer("a"), true, false));
        assertThat(cluster.names().attr(file.inode()).getMode()).isEqualTo(0100755);
        assertThat(get(append(file, ""))).isEqualTo(1);
        get(file.release());
        assertThat(errno(append(file, "b"))).isEqualTo(Errno.EBADF);
    }

    @Test
    void withTheSessionGoneThoseThatWaitFail() {
        OpenFile one = createToAppend(connect(NEVER));
        CairnClient other = connect(NEVER);
        OpenFile two = get(other.open(one.inode(), true));
        faults(op -> Fault.HOLD);
        CompletableFuture<Long> first = append(one, "abc");
        await().until(() -> held() == 1);
        List<CompletableFuture<Long>> waiting = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            waiting.add(append(two, "x"));
        }
        await().until(() -> cluster.mds(0).inLine() == 1);
        other.close();
        waiting.forEach(ClientFixture::failure);
        letGo();
        get(first);
    }
}
