package io.cairn.mds.raft;

import com.google.protobuf.UnsafeByteOperations;
import io.cairn.common.errno.Causes;
import io.cairn.mds.raft.ReplicatedState.Position;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.proto.RaftProtos.RoleInfoProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftGroupMemberId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.util.LifeCycle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands committed entries to the {@link ReplicatedState} and Ratis's notifications to the {@link
 * MetaLogListener}. Called on Ratis's threads: entries and checkpoints on the applying thread,
 * {@link #pause} (a received checkpoint) on a thread that serves the leader. The two exclude each
 * other.
 */
final class RatisStateMachine extends BaseStateMachine {
    private static final Logger LOG = LoggerFactory.getLogger(RatisStateMachine.class);

    private final ReplicatedState state;
    private final CheckpointStore checkpoints;
    private final MetaLogListener listener;
    private final BooleanSupplier roomForLog;
    private final Object applying = new Object();

    /** Term of the last configuration entry applied: the one whose leader is announced next. */
    private volatile long configurationTerm;

    private volatile boolean closing;

    /**
     * @param roomForLog whether the log may grow beyond its measure for a while
     */
    RatisStateMachine(
            ReplicatedState state,
            CheckpointStore checkpoints,
            MetaLogListener listener,
            BooleanSupplier roomForLog) {
        this.state = state;
        this.checkpoints = checkpoints;
        this.listener = listener;
        this.roomForLog = roomForLog;
    }

    /**
     * From now on Ratis closing itself is no failure, nor is what cannot be applied: it stays in
     * the log, for the next start.
     */
    void expectClose() {
        closing = true;
    }

    @Override
    public void initialize(RaftServer server, RaftGroupId group, RaftStorage storage)
            throws IOException {
        super.initialize(server, group, storage);
        getLifeCycle()
                .startAndTransition(
                        () -> {
                            // What RocksDB holds at start is durable: Ratis replays from there on.
                            checkpoints.open(state);
                            if (state.appliedIndex() > 0) {
                                setLastAppliedTermIndex(
                                        TermIndex.valueOf(
                                                state.appliedTerm(), state.appliedIndex()));
                            }
                        },
                        IOException.class);
    }

    @Override
    public StateMachineStorage getStateMachineStorage() {
        return checkpoints;
    }

    /** Before an entry is logged. Once it is, each member has to be able to apply it. */
    @Override
    public TransactionContext startTransaction(RaftClientRequest request) throws IOException {
        TransactionContext transaction = super.startTransaction(request);
        ByteString data = request.getMessage().getContent();
        if (!LogDataFormat.readable(data.asReadOnlyByteBuffer(), state::readable)) {
            transaction.setException(
                    new IllegalArgumentException(
                            data.size() + " bytes that are no entry of this log"));
        }
        return transaction;
    }

    @Override
    public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
        LogEntryProto entry = transaction.getLogEntry();
        long term = entry.getTerm();
        long index = entry.getIndex();
        com.google.protobuf.ByteString reply = com.google.protobuf.ByteString.EMPTY;
        try {
            synchronized (applying) {
                if (index > state.appliedIndex()) {
                    refuseGap(index);
                    ByteString data = entry.getStateMachineLogEntry().getLogData();
                    reply =
                            state.apply(
                                    term, index, LogDataFormat.entry(data.asReadOnlyByteBuffer()));
                }
            }
        } catch (RuntimeException | Error e) {
            // Not an expected failure, which would be a reply: the members' states may differ now.
            notApplied("log entry " + index + " of term " + term + " could not be applied", e);
            throw e;
        }
        updateLastAppliedTermIndex(term, index);
        return CompletableFuture.completedFuture(Message.valueOf(toRatis(reply)));
    }

    @Override
    public void notifyTermIndexUpdated(long term, long index) {
        try {
            synchronized (applying) {
                if (index > state.appliedIndex()) {
                    refuseGap(index);
                    state.skip(term, index);
                }
            }
        } catch (RuntimeException | Error e) {
            notApplied("log entry " + index + " of term " + term + " could not be noted", e);
            throw e;
        }
        super.notifyTermIndexUpdated(term, index);
    }

    /**
     * Every entry comes here, whatever it carries: one that does not follow the last says that
     * entries are missing from the state, and what is built on it would differ from the others'.
     */
    private void refuseGap(long index) {
        long last = state.appliedIndex();
        if (index != last + 1) {
            throw new IllegalStateException(
                    "this member's state ends with entry "
                            + last
                            + ", what follows it is missing: it has to be replaced as if its"
                            + " directory were lost");
        }
    }

    /**
     * Not while a member is being sent the newest checkpoint: with the next one Ratis drops the log
     * entries which that member needs as soon as it has received it.
     */
    boolean checkpointWaits() {
        return !closing && checkpoints.beingSent() && roomForLog.getAsBoolean();
    }

    @Override
    public long takeSnapshot() throws IOException {
        synchronized (applying) {
            if (state.appliedIndex() == 0
                    || checkpointWaits()
                    || getLifeCycleState() != LifeCycle.State.RUNNING) {
                return -1;
            }
            try {
                return checkpoints.take(state).index();
            } catch (IOException | RuntimeException e) {
                failed("a checkpoint of the metadata could not be written", e);
                throw e;
            }
        }
    }

    /**
     * Called when a checkpoint from the leader is complete in {@code incoming}, before the log it
     * replaces is dropped: the one moment at which it can be made durable and restored safely.
     */
    @Override
    public void pause() {
        getLifeCycle().transition(LifeCycle.State.PAUSING);
        try {
            synchronized (applying) {
                @Nullable Path received = checkpoints.received();
                if (received == null) {
                    throw new IOException("nothing complete was received");
                }
                state.restore(received);
                if (state.appliedIndex() < CheckpointStore.index(received)) {
                    throw new IOException(
                            received + " holds entries up to " + state.appliedIndex() + " only");
                }
                checkpoints.restored(new Position(state.appliedTerm(), state.appliedIndex()));
                LOG.info("restored the leader's checkpoint of entry {}", state.appliedIndex());
            }
        } catch (IOException | RuntimeException e) {
            failed("a checkpoint received from the leader could not be restored", e);
            throw new IllegalStateException("restoring a checkpoint failed", e);
        }
        getLifeCycle().transition(LifeCycle.State.PAUSED);
    }

    @Override
    public void reinitialize() throws IOException {
        getLifeCycle().transition(LifeCycle.State.STARTING);
        synchronized (applying) {
            checkpoints.reopen(state);
            setLastAppliedTermIndex(TermIndex.valueOf(state.appliedTerm(), state.appliedIndex()));
        }
        listener.configured(Set.of());
        getLifeCycle().transition(LifeCycle.State.RUNNING);
    }

    @Override
    public void notifyConfigurationChanged(
            long term, long index, RaftConfigurationProto configuration) {
        configurationTerm = term;
        listener.configured(voters(configuration));
    }

    private static Set<Integer> voters(RaftConfigurationProto configuration) {
        return configuration.getOldPeersCount() > 0
                ? Set.of()
                : configuration.getPeersList().stream()
                        .map(peer -> RaftSettings.member(RaftPeerId.valueOf(peer.getId())))
                        .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Ratis calls it while it applies the configuration entry a new leader begins its term with.
     */
    @Override
    public void notifyLeaderReady() {
        listener.becameLeader(configurationTerm);
    }

    @Override
    public void notifyNotLeader(Collection<TransactionContext> pending) {
        listener.lostLeadership();
    }

    @Override
    public void notifyLeaderChanged(RaftGroupMemberId self, RaftPeerId leader) {
        listener.leaderChanged(RaftSettings.member(leader));
    }

    @Override
    public void notifyLogFailed(Throwable cause, @Nullable LogEntryProto failed) {
        failed("the Raft log could not be written", cause);
    }

    private void notApplied(String what, Throwable cause) {
        if (closing) {
            LOG.debug("{} while the log is closed", what, cause);
        } else {
            failed(what, cause);
        }
    }

    /** What was acknowledged is durable in the log: once the cause is gone, a start goes on. */
    private void failed(String what, Throwable cause) {
        Throwable root = Causes.root(cause);
        listener.failed(
                what
                        + " ("
                        + (root.getMessage() == null ? root.toString() : root.getMessage())
                        + ", in "
                        + checkpoints.getSnapshotDir().getParent()
                        + "): remove the cause and start this server again",
                cause);
    }

    @Override
    public void notifyServerShutdown(RoleInfoProto role, boolean allServers) {
        if (!closing) {
            listener.failed(
                    "Ratis closed itself",
                    new IllegalStateException("see the error logged before this one"));
        }
    }

    @Override
    public void close() {
        // the state belongs to whoever started the log
    }

    private static ByteString toRatis(com.google.protobuf.ByteString bytes) {
        return org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations.unsafeWrap(
                bytes.asReadOnlyByteBuffer());
    }

    /** For callers outside: the reply as our own protobuf's bytes, not copied. */
    static com.google.protobuf.ByteString toCairn(ByteString bytes) {
        return UnsafeByteOperations.unsafeWrap(bytes.asReadOnlyByteBuffer());
    }

    static ByteString toRatis(long committed, com.google.protobuf.ByteString entry) {
        ByteString header =
                org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations.unsafeWrap(
                        LogDataFormat.header(committed));
        return header.concat(toRatis(entry));
    }

    /** What the last restart or checkpoint knows; for status. */
    @Nullable Position latestCheckpoint() {
        var latest = checkpoints.getLatestSnapshot();
        return latest == null ? null : new Position(latest.getTerm(), latest.getIndex());
    }
}
