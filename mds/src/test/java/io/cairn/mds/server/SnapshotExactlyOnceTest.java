package io.cairn.mds.server;

import static io.cairn.mds.server.MemberCommands.add;
import static io.cairn.mds.server.MemberCommands.address;
import static io.cairn.mds.server.MemberCommands.askAdd;
import static io.cairn.mds.server.MemberCommands.awaitLevel;
import static io.cairn.mds.server.MemberCommands.leader;
import static io.cairn.mds.server.MemberCommands.listing;
import static io.cairn.mds.server.MemberCommands.member;
import static io.cairn.mds.server.MemberCommands.transfer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.errno.Errno;
import io.cairn.common.file.FileTree;
import io.cairn.common.proto.GroupMembersReply;
import io.cairn.common.proto.MemberRole;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.MutationResult;
import io.cairn.mds.raft.StartWord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Mutations whose answers were lost are repeated at a member that has them from the leader's
 * checkpoint alone: what they were logged as is gone from every log. It gives the first answers and
 * executes nothing again.
 */
final class SnapshotExactlyOnceTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Takes no checkpoint of its own during a test, and so never shortens its own log. */
    private static final String WITHOUT_CHECKPOINTS =
            "[raft]\nleader_lease = \"600ms\"\nsoft_space_limit = \"2B\"\nhard_space_limit = \"1B\"\n";

    private static final int CHECKPOINT_ENTRIES = 100;
    private static final String SETTINGS =
            WITHOUT_CHECKPOINTS + "checkpoint_entries = " + CHECKPOINT_ENTRIES + "\n";

    /** A closed segment of Ratis's log, and the one being written. */
    private static final Pattern SEGMENT = Pattern.compile("log_(?:inprogress_)?(\\d+)(?:-\\d+)?");

    private static final int BLANK = 4;

    @TempDir Path directory;

    /** What the client has sent and was not told of. */
    private final List<MutateRequest> unanswered = new ArrayList<>();

    private final List<MutateReply> firstAnswers = new ArrayList<>();

    @Test
    void aBlankMemberThatIsGivenTheLeadAnswersAsTheOldLeaderDid() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, 1, SETTINGS)) {
            TestSession session = new TestSession(group);
            execute(group, session, new EveryKind(session, "a-"));
            long executed = lastIndex(group);
            String state = RootText.of(group);
            shortenLogs(group, session, executed, leader(group) % 3 + 1, 1, 2, 3);

            letBlankOneCatchUp(group, session);
            transfer(group, BLANK);
            assertThat(firstLogged(group, BLANK)).isGreaterThan(executed);
            repeat(group, session, BLANK, state);
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void aBlankMemberThatLeadsAfterAKillAnswersAsTheOldLeaderDid() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, 1, SETTINGS)) {
            int killed = 1;
            group.stop(killed);
            MdsProcess process = group.launch(killed);
            TestSession session = new TestSession(group);
            execute(group, session, new EveryKind(session, "a-"));
            long executed = lastIndex(group);
            shortenLogs(group, session, executed, killed, 1, 2, 3);

            group.configure(BLANK, WITHOUT_CHECKPOINTS);
            group.start(BLANK, StartWord.JOIN);
            add(group, BLANK);
            assertThat(firstLogged(group, BLANK)).isGreaterThan(executed);

            // Others that it has from the log: the leader dies when it has answered them.
            execute(group, session, new EveryKind(session, "b-"));
            String state = RootText.of(group);
            process.kill();
            transfer(group, BLANK);
            repeat(group, session, BLANK, state);
            assertThat(group.fatal).hasNullValue();
        }
    }

    @Test
    void aMemberThatWasAwayForLongerThanTheLogsReachAnswersAsTheOldLeaderDid() throws Exception {
        try (TestGroup group = new TestGroup(directory, 3, SETTINGS)) {
            TestSession session = new TestSession(group);
            EveryKind kinds = new EveryKind(session, "a-");
            int leader = group.awaitServing();
            int away = leader % 3 + 1;
            int other = away % 3 + 1;
            group.stop(away);
            execute(group, session, kinds);
            long executed = lastIndex(group);
            String state = RootText.of(group);
            shortenLogs(group, session, executed, other, leader, other);

            group.configure(away, WITHOUT_CHECKPOINTS);
            group.start(away);
            transfer(group, away);
            assertThat(firstLogged(group, away)).isGreaterThan(executed);
            repeat(group, session, away, state);
            assertThat(group.fatal).hasNullValue();
        }
    }

    // ---- the client

    private void execute(TestGroup group, TestSession session, EveryKind kinds) throws IOException {
        List<MutateRequest> batches = kinds.single(session);
        try (LostAnswers lost = new LostAnswers(group, 3)) {
            firstAnswers.addAll(lost.execute(session, batches));
            assertThat(lost.told()).isFalse();
        }
        unanswered.addAll(batches);
    }

    /** All that was not answered, and something new, at the member that leads now. */
    private void repeat(TestGroup group, TestSession session, int leader, String state) {
        for (int i = 0; i < unanswered.size(); i++) {
            assertThat(answer(session, leader, unanswered.get(i))).isEqualTo(firstAnswers.get(i));
        }
        assertThat(RootText.of(group)).isEqualTo(state);

        MutateRequest unseen = session.batch(session.next++, TestSession.mkdir("unseen"));
        MutateReply made = answer(session, leader, unseen);
        assertThat(errno(made.getResults(0))).isEqualTo(Errno.OK);
        assertThat(answer(session, leader, unseen)).isEqualTo(made);
        assertThat(errno(session.mutate(TestSession.mkdir("unseen")))).isEqualTo(Errno.EEXIST);
    }

    /** Of this member, which may say that it is to be asked again. */
    private static MutateReply answer(TestSession session, int member, MutateRequest batch) {
        return await().pollInSameThread()
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(10))
                .atMost(PATIENCE)
                .until(
                        () -> session.send(member, batch).get(30, TimeUnit.SECONDS),
                        answer -> answer.status().ok())
                .get();
    }

    private static Errno errno(MutationResult result) {
        return Errno.of(result.getErrno());
    }

    // ---- the logs

    /** Of the leader's log. */
    private static long lastIndex(TestGroup group) {
        return member(group, leader(group)).getLastIndex();
    }

    /**
     * Has the members drop what they have logged up to an index. Ratis drops whole segments that
     * are closed: another leader begins another one.
     */
    private void shortenLogs(
            TestGroup group, TestSession session, long upTo, int nextLeader, int... members) {
        transfer(group, nextLeader);
        // A checkpoint comes late enough for the segment before to go, though a quarter stays.
        for (int i = 0; i < CHECKPOINT_ENTRIES * 3 / 2; i++) {
            assertThat(errno(session.mutate(TestSession.unlink("nothing"))))
                    .isEqualTo(Errno.ENOENT);
        }
        await("the logs are shortened")
                .atMost(PATIENCE)
                .untilAsserted(() -> {
                    for (int id : members) {
                        assertThat(firstLogged(group, id)).isGreaterThan(upTo);
                    }
                });
    }

    /** Index of the first entry in a member's log. */
    private long firstLogged(TestGroup group, int id) throws IOException {
        Path raft = directory.resolve("mds-" + id).resolve("raft");
        Path log = raft.resolve(group.clusterId.toString()).resolve("current");
        try (Stream<Path> files = Files.list(log)) {
            return files.map(file -> SEGMENT.matcher(file.getFileName().toString()))
                    .filter(Matcher::matches)
                    .mapToLong(segment -> Long.parseLong(segment.group(1)))
                    .min()
                    .orElseThrow();
        }
    }

    // ---- the blank member

    /** It is held up on the way: meanwhile it has no vote, and the group does not wait for it. */
    private void letBlankOneCatchUp(TestGroup group, TestSession session) throws IOException {
        group.configure(BLANK, WITHOUT_CHECKPOINTS);
        group.start(BLANK, StartWord.JOIN);
        // A file where the parts of the checkpoint are to be put: none can be.
        Path incoming = directory.resolve("mds-" + BLANK).resolve("incoming");
        FileTree.delete(incoming);
        Files.createFile(incoming);
        awaitLevel(group);
        assertThat(askAdd(group, BLANK, address(group, BLANK)).get().getDone()).isFalse();
        await().pollInSameThread()
                .atMost(PATIENCE)
                .until(() -> listing(group).getChange().contains("is sent the metadata"));

        assertGoesOnWithoutIt(group, session);
        // Of three voters one may be missing, of four not two.
        int stopped = leader(group) % 3 + 1;
        group.stop(stopped);
        assertGoesOnWithoutIt(group, session);
        group.start(stopped);

        Files.delete(incoming);
        Files.createDirectory(incoming);
        add(group, BLANK);
        assertThat(voters(listing(group))).containsExactly(1, 2, 3, BLANK);
    }

    private static void assertGoesOnWithoutIt(TestGroup group, TestSession session) {
        for (int i = 0; i < 20; i++) {
            assertThat(errno(session.mutate(TestSession.unlink("nothing"))))
                    .isEqualTo(Errno.ENOENT);
            assertThat(session.lookup("a-created").status().ok()).isTrue();
            GroupMembersReply now = listing(group);
            assertThat(voters(now)).containsExactly(1, 2, 3);
            assertThat(now.getMembersList())
                    .filteredOn(m -> m.getMember().getId() == BLANK)
                    .allMatch(m -> m.getAppliedIndex() <= 0);
        }
    }

    private static List<Integer> voters(GroupMembersReply listing) {
        return listing.getMembersList().stream()
                .filter(m -> m.getRole() != MemberRole.MEMBER_LISTENER)
                .map(m -> m.getMember().getId())
                .toList();
    }
}
