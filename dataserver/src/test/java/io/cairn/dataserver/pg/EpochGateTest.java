package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class EpochGateTest {
    private final EpochGate gate = new EpochGate();
    private final List<Long> refused = new ArrayList<>();

    private EpochGate.Entry enter(long session) {
        EpochGate.Entry entry =
                new EpochGate.Entry() {
                    @Override
                    protected long session() {
                        return session;
                    }

                    @Override
                    protected void refused() {
                        refused.add(session);
                        gate.leave(this);
                    }
                };
        gate.enter(entry);
        return entry;
    }

    /** What they wait for may never come: it must not keep the epoch from being confirmed. */
    @Test
    void requestsOfRefusedSessionsAreAnsweredAndDelayNoEpoch() {
        gate.advance(3, s -> false);
        assertThat(gate.confirmed()).isEqualTo(3);
        EpochGate.Entry answered = enter(7);
        enter(7);
        enter(8);
        enter(7);
        gate.leave(answered);
        gate.leave(answered);
        gate.advance(4, s -> s == 7);
        assertThat(refused).containsExactly(7L, 7L);
        assertThat(gate.confirmed()).isEqualTo(4);
        gate.advance(5, s -> s == 7);
        assertThat(refused).as("each once").hasSize(2);
        gate.advance(6, s -> true);
        assertThat(refused).containsExactly(7L, 7L, 8L);
        assertThat(gate.confirmed()).isEqualTo(6);
    }
}
