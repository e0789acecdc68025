package io.cairn.dataserver.chunk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class PromptReadsTest {
    @Test
    void whoAsksIsToldWhatWasRead() {
        try (PromptReads reads = new PromptReads()) {
            assertThat(reads.read(() -> 7)).isEqualTo(7);
            assertThatThrownBy(() ->
                            reads.read(() -> {
                                throw new IndexDamagedException("a bit of it flipped");
                            }))
                    .isInstanceOf(IndexDamagedException.class)
                    .hasMessageContaining("a bit of it flipped");
        }
    }

    @Test
    void nobodyWaitsForAReadThatHangsNorForAnyAfterIt() {
        CompletableFuture<Integer> never = new CompletableFuture<>();
        try (PromptReads reads = new PromptReads()) {
            assertThatThrownBy(() -> reads.read(never::join))
                    .isInstanceOf(IndexDamagedException.class)
                    .hasMessage("a read of the chunk index has not come back for 2 s");
            boolean[] tried = new boolean[1];
            assertThatThrownBy(() -> reads.read(() -> tried[0] = true))
                    .isInstanceOf(IndexDamagedException.class);
            assertThat(tried[0]).isFalse();
        } finally {
            never.complete(0);
        }
    }
}
