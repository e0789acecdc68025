package io.cairn.cli.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.ByteSize;
import io.cairn.common.file.FileTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code cairn up} makes of empty directories of metadata servers. */
final class MembersTest {
    @TempDir Path directory;
    private ClusterDirectory cluster;

    @BeforeEach
    void layOut() throws IOException {
        cluster = new ClusterDirectory(directory);
        new ClusterPlan(3, 1, ByteSize.ofMiB(1024), ByteSize.ofMiB(64)).write(cluster);
    }

    @Test
    void aNewClusterNeedsNoWord() throws IOException {
        prepare(false);
        for (int id = 1; id <= 3; id++) {
            assertThat(Files.readString(identity(id))).contains("word new-cluster");
        }
        // As after a crash in between, and with a word that is of no use here.
        FileTree.delete(state(2));
        prepare(true);
        assertThat(Files.readString(identity(2))).contains("word new-cluster");
    }

    @Test
    void oneLostDirectoryOfAClusterThatHasRunNeedsAWord() throws IOException {
        prepare(false);
        voted(1);
        voted(3);
        FileTree.delete(state(2));
        assertThatThrownBy(() -> prepare(false))
                .isInstanceOf(CommandException.class)
                .hasMessageContaining(state(2) + " is empty")
                .hasMessageContaining("--join")
                .extracting(e -> ((CommandException) e).exitCode())
                .isEqualTo(ExitCode.CONFIGURATION);
        assertThat(state(2)).doesNotExist();
        prepare(true);
        assertThat(Files.readString(identity(2))).contains("word join");
    }

    @Test
    void withoutAnyMetadataNothingIsJoined() throws IOException {
        Files.createDirectories(directory.resolve("data-1/state"));
        for (boolean join : new boolean[] {false, true}) {
            assertThatThrownBy(() -> prepare(join))
                    .isInstanceOf(CommandException.class)
                    .hasMessageContaining("no other metadata server has the names");
        }
    }

    private void prepare(boolean join) throws IOException {
        new Members(cluster, cluster.parts()).prepare(join);
    }

    private void voted(int member) throws IOException {
        Files.writeString(
                identity(member),
                Files.readString(identity(member)).replace("word new-cluster\n", ""));
    }

    private Path identity(int member) {
        return state(member).resolve("identity");
    }

    private Path state(int member) {
        return directory.resolve("mds-" + member).resolve("state");
    }
}
