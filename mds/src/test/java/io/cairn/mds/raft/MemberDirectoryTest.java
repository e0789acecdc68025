package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.file.FileTree;
import io.cairn.mds.raft.MemberDirectory.Content;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a member's directory says of its right to vote. */
final class MemberDirectoryTest {
    @TempDir Path temporary;

    @Test
    void anEmptyOneNeedsAWord() throws IOException {
        MetaLogConfig config = config();
        assertThatThrownBy(() -> open(config, StartWord.NONE))
                .isInstanceOf(MemberRefusedException.class)
                .hasMessageContaining("--new-cluster")
                .hasMessageContaining("--join");
        assertThat(open(config, StartWord.NEW_CLUSTER)).isEqualTo(VotingRight.State.NEW);
        assertThat(MemberDirectory.content(config.directory())).isEqualTo(Content.NEW_MEMBER);
        assertThat(open(config, StartWord.NONE)).isEqualTo(VotingRight.State.NEW);
    }

    @Test
    void theWordIsKeptUntilTheMemberVotes() throws IOException {
        MetaLogConfig config = config();
        assertThat(open(config, StartWord.JOIN)).isEqualTo(VotingRight.State.JOINING);
        assertThat(lines(config)).contains("format 2", "word join");
        assertThat(open(config, StartWord.NONE)).isEqualTo(VotingRight.State.JOINING);
        assertThat(open(config, StartWord.JOIN)).isEqualTo(VotingRight.State.JOINING);
        assertThat(open(config, StartWord.NEW_CLUSTER)).isEqualTo(VotingRight.State.JOINING);

        try (MemberDirectory directory = MemberDirectory.open(config, StartWord.NONE)) {
            Files.createDirectories(directory.raft().resolve(config.clusterId().toString()));
            directory.record(VotingRight.State.VOTING);
        }
        assertThat(lines(config)).noneMatch(line -> line.startsWith("word"));
        assertThat(MemberDirectory.content(config.directory())).isEqualTo(Content.MEMBER);
        for (StartWord word : StartWord.values()) {
            assertThat(open(config, word)).isEqualTo(VotingRight.State.VOTING);
        }
    }

    @Test
    void aNewMemberCanBeToldToJoin() throws IOException {
        MetaLogConfig config = config();
        open(config, StartWord.NEW_CLUSTER);
        assertThat(open(config, StartWord.JOIN)).isEqualTo(VotingRight.State.JOINING);
        assertThat(open(config, StartWord.NONE)).isEqualTo(VotingRight.State.JOINING);
    }

    @Test
    void oneOfTheFormatBeforeVotes() throws IOException {
        MetaLogConfig config = config();
        open(config, StartWord.NEW_CLUSTER);
        List<String> before =
                lines(config).stream()
                        .filter(line -> !line.startsWith("word"))
                        .map(line -> line.equals("format 2") ? "format 1" : line)
                        .toList();
        Files.write(config.directory().resolve("identity"), before);
        Files.createDirectories(
                config.directory().resolve("raft").resolve(config.clusterId().toString()));
        assertThat(open(config, StartWord.NONE)).isEqualTo(VotingRight.State.VOTING);
        assertThat(lines(config)).as("an older version still starts").isEqualTo(before);
    }

    @Test
    void theConfigurationNamesTheGroupAsItWasOrAsItIs() throws IOException {
        MetaLogConfig config = config();
        open(config, StartWord.JOIN);
        List<MetaLogConfig.Member> now =
                List.of(
                        config.members().get(0),
                        config.members().get(2),
                        new MetaLogConfig.Member(4, "127.0.0.1", 4, ""));
        MetaLogConfig later = with(config, now);
        assertThatThrownBy(() -> open(later, StartWord.NONE))
                .isInstanceOf(MemberRefusedException.class)
                .hasMessageContaining("another group of members");
        try (MemberDirectory directory = MemberDirectory.open(config, StartWord.NONE)) {
            directory.record(now);
        }
        assertThat(lines(config)).contains("members 1=127.0.0.1:1,3=127.0.0.1:3,4=127.0.0.1:4");
        assertThat(open(config, StartWord.NONE)).isEqualTo(VotingRight.State.JOINING);
        assertThat(open(later, StartWord.NONE)).isEqualTo(VotingRight.State.JOINING);
        try (MemberDirectory directory = MemberDirectory.open(later, StartWord.NONE)) {
            directory.record(now);
        }
        assertThat(lines(config)).noneMatch(line -> line.startsWith("members"));
    }

    @Test
    void oneThatWasRemovedDoesNotStart() throws IOException {
        MetaLogConfig config = config();
        open(config, StartWord.NEW_CLUSTER);
        try (MemberDirectory directory = MemberDirectory.open(config, StartWord.NONE)) {
            directory.recordRemoved();
        }
        for (StartWord word : StartWord.values()) {
            assertThatThrownBy(() -> open(config, word))
                    .isInstanceOf(MemberRefusedException.class)
                    .hasMessageContaining("was removed from its group");
        }
    }

    private static MetaLogConfig with(MetaLogConfig config, List<MetaLogConfig.Member> members) {
        return new MetaLogConfig(
                config.clusterId(),
                config.memberId(),
                members,
                config.directory(),
                config.transport(),
                config.snapshotEntries(),
                config.snapshotInterval(),
                0,
                0,
                true);
    }

    @Test
    void aVoterWithoutItsLogIsRefused() throws IOException {
        MetaLogConfig config = config();
        open(config, StartWord.NEW_CLUSTER);
        try (MemberDirectory directory = MemberDirectory.open(config, StartWord.NONE)) {
            directory.record(VotingRight.State.VOTING);
        }
        FileTree.delete(config.directory().resolve("raft"));
        assertThatThrownBy(() -> open(config, StartWord.NONE))
                .isInstanceOf(MemberRefusedException.class)
                .hasMessageContaining("has lost its Raft log");
    }

    @Test
    void theOnlyMemberHasNobodyToJoin() throws IOException {
        MetaLogConfig config =
                LogMember.group(temporary, 1, MetaLogConfig.Transport.NETTY, 1000).getFirst();
        assertThatThrownBy(() -> open(config, StartWord.JOIN))
                .isInstanceOf(MemberRefusedException.class)
                .hasMessageContaining("nobody to join");
    }

    private MetaLogConfig config() {
        return RaftMessages.threeMembers(temporary.resolve("mds"));
    }

    private static List<String> lines(MetaLogConfig config) throws IOException {
        return Files.readAllLines(config.directory().resolve("identity"));
    }

    private static VotingRight.State open(MetaLogConfig config, StartWord word) throws IOException {
        try (MemberDirectory directory = MemberDirectory.open(config, word)) {
            return directory.atStart();
        }
    }
}
