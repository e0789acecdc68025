package io.cairn.common.errno;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;

class CausesTest {
    @Test
    void whatFuturesWrappedIsUnwrappedAndNothingElse() {
        RuntimeException own = new IllegalStateException(new RuntimeException("inner"));
        assertThat(Causes.of(own)).isSameAs(own);
        assertThat(Causes.of(new CompletionException(own))).isSameAs(own);
        assertThat(Causes.of(new ExecutionException(new CompletionException(own)))).isSameAs(own);
        Throwable empty = new CompletionException(null);
        assertThat(Causes.of(empty)).isSameAs(empty);
    }

    @Test
    void theRootIsTheLastCause() {
        RuntimeException first = new RuntimeException("first");
        assertThat(Causes.root(first)).isSameAs(first);
        assertThat(Causes.root(new IllegalStateException(new CompletionException(first))))
                .isSameAs(first);
    }
}
