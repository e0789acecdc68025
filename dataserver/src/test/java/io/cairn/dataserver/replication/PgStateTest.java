package io.cairn.dataserver.replication;

import static io.cairn.dataserver.replication.PgState.ACTIVE;
import static io.cairn.dataserver.replication.PgState.BACKUP;
import static io.cairn.dataserver.replication.PgState.DAMAGED;
import static io.cairn.dataserver.replication.PgState.FETCHING;
import static io.cairn.dataserver.replication.PgState.IDLE;
import static io.cairn.dataserver.replication.PgState.QUERYING;
import static io.cairn.dataserver.replication.PgState.RESENDING;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The diagram of {@link PgState}, arrow by arrow, and that a primary keeps to it. */
class PgStateTest {
    private static final Map<PgState, Set<PgState>> ARROWS = new EnumMap<>(PgState.class);

    static {
        ARROWS.put(IDLE, EnumSet.of(IDLE, QUERYING, BACKUP));
        ARROWS.put(BACKUP, EnumSet.of(IDLE, QUERYING));
        ARROWS.put(QUERYING, EnumSet.of(IDLE, QUERYING, FETCHING, RESENDING, DAMAGED));
        ARROWS.put(FETCHING, EnumSet.of(IDLE, QUERYING, RESENDING, DAMAGED));
        ARROWS.put(RESENDING, EnumSet.of(IDLE, QUERYING, ACTIVE, DAMAGED));
        ARROWS.put(ACTIVE, EnumSet.of(IDLE, QUERYING, DAMAGED));
        ARROWS.put(DAMAGED, EnumSet.of(IDLE, QUERYING));
    }

    private final RecordingOutputs out = new RecordingOutputs(new SimStore(Ops.PG));
    private final Primary primary =
            new Primary(
                    Ops.PG,
                    PgLimits.DEFAULT,
                    out,
                    new SpaceLedger(0, 1 << 20),
                    new PgLog(out.logState()));

    @Test
    void hasTheseArrows() {
        for (PgState from : PgState.values()) {
            Set<PgState> reached = EnumSet.noneOf(PgState.class);
            for (PgState to : PgState.values()) {
                if (from.mayBecome(to)) {
                    reached.add(to);
                }
            }
            assertThat(reached).as("from %s", from).isEqualTo(ARROWS.get(from));
        }
    }

    @Test
    void aPrimaryTakesNoOtherWay() {
        assertThatThrownBy(() -> primary.become(ACTIVE, "a short cut"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("cannot become ACTIVE from IDLE: a short cut");
        assertThat(primary.state()).isEqualTo(IDLE);
        assertThat(out.actions).isEmpty();

        primary.become(QUERYING, "a new epoch");
        primary.become(RESENDING, "members answered");
        primary.become(ACTIVE, "committed");
        assertThatThrownBy(() -> primary.become(RESENDING, "backwards"))
                .isInstanceOf(IllegalStateException.class);
        assertThat(primary.state()).isEqualTo(ACTIVE);
    }
}
