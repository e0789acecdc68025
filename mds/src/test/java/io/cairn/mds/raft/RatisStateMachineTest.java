package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.cairn.common.time.ManualClock;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.StateMachineLogEntryProto;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.TransactionContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What Ratis calls, called by hand. */
final class RatisStateMachineTest implements MetaLogListener {
    @TempDir Path directory;

    private final List<String> failures = new ArrayList<>();
    private boolean roomForLog = true;
    private ListState state;
    private CheckpointStore checkpoints;
    private RatisStateMachine machine;

    @BeforeEach
    void open() throws IOException {
        state = new ListState(directory.resolve("list"));
        checkpoints =
                new CheckpointStore(
                        directory.resolve("checkpoints"),
                        directory.resolve("incoming"),
                        new ManualClock());
        machine = new RatisStateMachine(state, checkpoints, this, () -> roomForLog);
        machine.initialize(fake(RaftServer.class), RaftGroupId.randomId(), fake(RaftStorage.class));
    }

    @Override
    public void becameLeader(long term) {}

    @Override
    public void lostLeadership() {}

    @Override
    public void leaderChanged(int leader) {}

    @Override
    public void configured(Set<Integer> voters) {}

    @Override
    public void failed(String reason, Throwable cause) {
        failures.add(reason);
    }

    private static <T> T fake(Class<T> type) {
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) -> {
                            return switch (method.getName()) {
                                case "toString" -> type.getSimpleName();
                                case "getId" -> RaftSettings.peerId(1);
                                default -> throw new AssertionError(method.getName());
                            };
                        }));
    }

    private void apply(long index) {
        LogEntryProto entry =
                LogEntryProto.newBuilder()
                        .setTerm(1)
                        .setIndex(index)
                        .setStateMachineLogEntry(
                                StateMachineLogEntryProto.newBuilder()
                                        .setLogData(
                                                RatisStateMachine.toRatis(
                                                        0, ByteString.copyFromUtf8("e" + index))))
                        .build();
        machine.applyTransaction(
                (TransactionContext)
                        Proxy.newProxyInstance(
                                TransactionContext.class.getClassLoader(),
                                new Class<?>[] {TransactionContext.class},
                                (proxy, method, arguments) -> entry));
    }

    private SnapshotInfo latest() {
        return Objects.requireNonNull(checkpoints.getLatestSnapshot());
    }

    /** What a leader sent, where Ratis puts it. */
    private void receive(ListState other) throws IOException {
        Path attempt = Files.createDirectories(directory.resolve("incoming/snapshot-1"));
        Path part = attempt.resolve("part");
        ReplicatedState.Position position = other.checkpoint(part);
        CheckpointManifest.write(part);
        Files.move(part, attempt.resolve(position.term() + "-" + position.index()));
    }

    private ListState other(int entries) throws IOException {
        ListState other = new ListState(directory.resolve("other"));
        for (int i = 1; i <= entries; i++) {
            other.apply(3, i, ByteString.copyFromUtf8("o" + i));
        }
        return other;
    }

    @Test
    void everyEntryFollowsTheOneBefore() {
        machine.notifyTermIndexUpdated(1, 0);
        machine.notifyTermIndexUpdated(1, 1);
        apply(2);
        apply(2); // again after a restart: known
        machine.notifyTermIndexUpdated(1, 3);
        apply(4);
        assertThat(state.entries()).containsExactly("e2", "e4");
        assertThat(failures).isEmpty();
    }

    @Test
    void anEntryAfterMissingOnesEndsTheMember() {
        apply(1);
        assertThatThrownBy(() -> apply(3)).hasMessageContaining("ends with entry 1");
        assertThatThrownBy(() -> machine.notifyTermIndexUpdated(1, 4))
                .hasMessageContaining("ends with entry 1");
        assertThat(state.entries()).containsExactly("e1");
        assertThat(state.appliedIndex()).isEqualTo(1);
        assertThat(failures).hasSize(2).allMatch(f -> f.contains("ends with entry 1"));
    }

    @Test
    void whatCannotBeAppliedWhileItClosesIsNoFailure() {
        apply(1);
        machine.expectClose();
        assertThatThrownBy(() -> apply(3)).hasMessageContaining("ends with entry 1");
        assertThatThrownBy(() -> machine.notifyTermIndexUpdated(1, 4))
                .hasMessageContaining("ends with entry 1");
        assertThat(state.appliedIndex()).isEqualTo(1);
        assertThat(failures).isEmpty();
    }

    @Test
    void anInstallationWithNothingCompleteReceivedEndsTheMember() throws IOException {
        apply(1);
        receive(other(5));
        Files.delete(directory.resolve("incoming/snapshot-1/3-5/FILES"));
        assertThatThrownBy(() -> machine.pause()).isInstanceOf(IllegalStateException.class);
        assertThat(failures)
                .singleElement()
                .asString()
                .contains("could not be restored")
                .contains("nothing complete was received");
        assertThat(state.entries()).containsExactly("e1");
    }

    @Test
    void aCheckpointThatHoldsLessThanItSaysEndsTheMember() throws IOException {
        receive(other(5));
        Files.move(
                directory.resolve("incoming/snapshot-1/3-5"),
                directory.resolve("incoming/snapshot-1/3-6"));
        assertThatThrownBy(() -> machine.pause()).isInstanceOf(IllegalStateException.class);
        assertThat(failures).singleElement().asString().contains("up to 5 only");
    }

    @Test
    void aReceivedCheckpointCountsFromTheMomentItIsRestored() throws IOException {
        apply(1);
        receive(other(5));
        machine.pause();
        // The log behind it goes now: votes are judged by this.
        assertThat(latest().getIndex()).isEqualTo(5);
        assertThat(latest().getTerm()).isEqualTo(3);
        assertThat(machine.takeSnapshot()).as("nothing is taken meanwhile").isEqualTo(-1);
        Path next = Files.createDirectories(directory.resolve("incoming/snapshot-2"));
        machine.reinitialize();
        assertThat(next).exists();
        assertThat(latest().getFiles()).hasSize(2);
        machine.notifyTermIndexUpdated(4, 6);
        assertThat(state.entries()).hasSize(5);
        assertThat(failures).isEmpty();
    }

    @Test
    void noCheckpointIsTakenWhileAMemberIsSentTheLast() throws IOException {
        apply(1);
        assertThat(machine.takeSnapshot()).isEqualTo(1);
        latest().getFiles();
        apply(2);
        assertThat(machine.takeSnapshot()).isEqualTo(-1);
        roomForLog = false;
        assertThat(machine.takeSnapshot()).isEqualTo(2);
        roomForLog = true;
        latest().getFiles();
        apply(3);
        machine.expectClose();
        assertThat(machine.takeSnapshot()).as("at the end there is one").isEqualTo(3);
    }
}
