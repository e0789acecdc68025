package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.file.Durable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TermSyncTest {
    @TempDir Path directory;

    private final List<String> failures = new ArrayList<>();

    /** Ratis interrupts the threads of an election that was decided without them. */
    @Test
    void anInterruptedElectionSendsNothingAndStopsNothing() throws IOException {
        TermSync sync =
                new TermSync(
                        () -> Durable.sync(directory), (reason, cause) -> failures.add(reason));
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> sync.syncTerm(1)).isInstanceOf(ClosedByInterruptException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(failures).isEmpty();
        sync.syncTerm(1);
    }

    @Test
    void aFailedSyncStopsTheProcess() {
        TermSync sync =
                new TermSync(
                        () -> {
                            throw new IOException("no disk");
                        },
                        (reason, cause) -> failures.add(reason));
        assertThatThrownBy(sync::sync).hasMessage("no disk");
        assertThat(failures).containsExactly("the directory of the Raft log could not be synced");
    }
}
