package io.cairn.dataserver.pg;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class EpochGateTest {
    private final EpochGate gate = new EpochGate();

    private static EpochGate.Entry request(long session) {
        return new EpochGate.Entry() {
            @Override
            protected long session() {
                return session;
            }
        };
    }

    @Test
    void anEpochIsConfirmedWhenRequestsOfRefusedSessionsAreDone() {
        gate.advance(3, s -> false);
        assertThat(gate.confirmed()).isEqualTo(3);
        EpochGate.Entry first = request(7);
        EpochGate.Entry second = request(7);
        EpochGate.Entry other = request(8);
        gate.enter(first);
        gate.enter(other);
        gate.enter(second);
        gate.advance(4, s -> s == 7);
        assertThat(gate.confirmed()).isEqualTo(3);
        gate.leave(first);
        gate.leave(first);
        gate.advance(5, s -> s == 7);
        assertThat(gate.confirmed()).isEqualTo(3);
        gate.leave(second);
        assertThat(gate.confirmed()).isEqualTo(5);
        gate.leave(other);
        gate.advance(6, s -> true);
        assertThat(gate.confirmed()).isEqualTo(6);
    }
}
