package io.cairn.mds.raft;

import com.google.protobuf.ByteString;
import io.cairn.common.config.ByteSize;
import io.cairn.common.errno.BindFailures;
import io.cairn.common.errno.Causes;
import io.cairn.common.file.Durable;
import io.cairn.common.time.NanoClock;
import io.cairn.common.time.Periodic;
import io.cairn.mds.raft.ReplicatedState.Position;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.SnapshotManagementRequest;
import org.apache.ratis.protocol.exceptions.ResourceUnavailableException;
import org.apache.ratis.protocol.exceptions.StateMachineException;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.storage.RaftStorage.StartupOption;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This member's part of the replicated log: accepts entries while this member leads, and applies
 * committed entries to the {@link ReplicatedState}. The server opens the state before the log and
 * closes it after.
 *
 * <p>Any thread.
 */
public final class MetaLog implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MetaLog.class);
    private static final long CLOSE_SECONDS = 10;

    /** The largest entry that {@link #submit} takes. */
    public static final int MAX_ENTRY_BYTES = RaftSettings.ENTRY_MAX.getSizeInt() - 1024;

    private final MetaLogConfig config;
    private final MemberDirectory directory;
    private final MetaLogListener listener;
    private final ReplicatedState state;
    private final CheckpointStore checkpoints;
    private final RatisStateMachine stateMachine;
    private final RaftServer server;
    private final RaftServer.Division division;
    private final DivisionSubmitter submitter;
    private final LeaderDeath leaderDeath;
    private final SpaceWatch space;
    private final RaftPort port;
    private final VotingRight voting;
    private final RaftMembership membership;

    /** Entries whose answers are owed. */
    private final Set<CompletableFuture<ByteString>> underWay = ConcurrentHashMap.newKeySet();

    private volatile boolean closed;

    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(
                    2, Thread.ofPlatform().name("mds-raft-timer-", 0).daemon().factory());

    private MetaLog(
            MetaLogConfig config,
            MemberDirectory directory,
            ReplicatedState state,
            MetaLogListener listener)
            throws IOException {
        this.config = config;
        this.directory = directory;
        this.listener = listener;
        this.state = state;
        this.checkpoints =
                new CheckpointStore(
                        directory.checkpoints(), directory.incoming(), NanoClock.MONOTONIC);
        this.space =
                new SpaceWatch(
                        config.directory(), config.softSpaceBytes(), config.hardSpaceBytes());
        if (space.level() == SpaceWatch.Level.OUT) {
            throw new IOException(outOfSpace());
        }
        Path raft = directory.raft().resolve(config.clusterId().toString());
        LogTail.repair(raft);
        this.stateMachine = new RatisStateMachine(state, checkpoints, listener, this::roomForLog);
        this.port = new RaftPort(config, memberAddresses(config), state, NanoClock.MONOTONIC);
        this.voting = new VotingRight(directory.atStart(), directory::record, listener::failed);
        this.server =
                RaftServer.newBuilder()
                        .setServerId(RaftSettings.peerId(config.memberId()))
                        .setGroup(groupAtFirst())
                        .setOption(StartupOption.RECOVER)
                        .setProperties(RaftSettings.properties(config, directory))
                        .setParameters(
                                SyncedTransport.parameters(
                                        config.transport(),
                                        new SyncedTransport.Watch(
                                                port,
                                                new TermSync(
                                                        () -> Durable.sync(raft.resolve("current")),
                                                        listener::failed),
                                                voting,
                                                new FollowerProgress(),
                                                checkpoints::attemptBegun,
                                                this::disconnected)))
                        .setStateMachine(stateMachine)
                        .build();
        this.division = server.getDivision(RaftSettings.group(config).getGroupId());
        this.submitter = new DivisionSubmitter(division);
        this.leaderDeath =
                new LeaderDeath(
                        this::later,
                        new FollowedLeader(server, division),
                        () -> ThreadLocalRandom.current().nextInt(LeaderDeath.SPREAD_MILLIS));
        this.membership = new RaftMembership(config, directory, server, division, port, listener);
    }

    private void later(long millis, Runnable task) {
        try {
            var _ = timer.schedule(task, millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("closing");
        }
    }

    /** Nobody is connected before the server is started. */
    private void disconnected(RaftPeerId member) {
        leaderDeath.disconnected(member);
    }

    /**
     * Ratis's group as long as the log says nothing of it. One that joins learns from the leader's
     * log who the members are, and only listens before: Ratis closes a follower that misses its
     * leader and is in no group that could elect another one.
     */
    private RaftGroup groupAtFirst() {
        return directory.atStart() == VotingRight.State.JOINING
                ? RaftSettings.listening(config)
                : RaftSettings.group(config);
    }

    private static @Nullable MemberAddresses memberAddresses(MetaLogConfig config) {
        return config.checkAddresses()
                ? new MemberAddresses(
                        config.members().stream().map(MetaLogConfig.Member::raftHost).toList(),
                        InetAddress::getAllByName)
                : null;
    }

    /**
     * Starts this member; it may lead, and the listener be called, before this returns.
     *
     * @param directory stays the caller's, to be closed after the state
     * @throws IOException with one clear line: address in use, log damaged, no space
     */
    public static MetaLog start(
            MetaLogConfig config,
            MemberDirectory directory,
            ReplicatedState state,
            MetaLogListener listener)
            throws IOException {
        DeserializationFilter.install();
        MetaLog log = new MetaLog(config, directory, state, listener);
        log.run();
        return log;
    }

    private void run() throws IOException {
        try {
            server.start();
            if (config.members().size() == 1) {
                // Nobody to ask: it has voted for itself, or will.
                voting.stand(false);
            }
        } catch (IOException | RuntimeException e) {
            stateMachine.expectClose();
            // By itself: Ratis takes a server that could not start for one that has nothing to
            // close,
            // and the division's applying thread would go on where the state is closed.
            division.close();
            server.close();
            Throwable root = Causes.root(e);
            if (String.valueOf(root.getMessage()).startsWith("bind(")
                    || root instanceof BindException) {
                throw BindFailures.named("the Raft address", config.self().raftAddress(), root);
            }
            throw e;
        }
        long second = TimeUnit.SECONDS.toNanos(1);
        var _ = Periodic.every(timer, second, "The watch of the free space", this::watchSpace);
        var _ = Periodic.every(timer, second, "The care for checkpoints", this::tendCheckpoints);
        var _ = Periodic.every(timer, second, "The watch of the group", membership::tend);
        long interval = config.snapshotInterval().toNanos();
        var _ = Periodic.every(timer, interval, "The periodic checkpoint", this::checkpoint);
    }

    /**
     * Appends an entry. What one thread submits is committed in that order, if it is committed.
     *
     * @return what {@link ReplicatedState#apply} answered here, after the commit; fails with {@link
     *     LogUnavailableException}, in which case the entry may have been, or may yet be,
     *     committed; with IllegalArgumentException for one that is too large or cannot be decoded.
     *     Never throws
     */
    public CompletableFuture<ByteString> submit(ByteString entry) {
        if (entry.size() > MAX_ENTRY_BYTES) {
            return CompletableFuture.failedFuture(
                    new IllegalArgumentException(
                            "a log entry of "
                                    + entry.size()
                                    + " bytes, "
                                    + MAX_ENTRY_BYTES
                                    + " are the most"));
        }
        CompletableFuture<RaftClientReply> submitted;
        try {
            long committed = division.getRaftLog().getLastCommittedIndex();
            submitted =
                    submitter.submit(Message.valueOf(RatisStateMachine.toRatis(committed, entry)));
        } catch (RuntimeException e) {
            submitted = CompletableFuture.failedFuture(e);
        }
        CompletableFuture<ByteString> answered = submitted.handle(MetaLog::answer);
        if (!answered.isDone()) {
            underWay.add(answered);
            var _ = answered.whenComplete((answer, failure) -> underWay.remove(answered));
            if (closed) {
                answerClosed(answered);
            }
        }
        return answered;
    }

    private static void answerClosed(CompletableFuture<ByteString> answered) {
        answered.completeExceptionally(
                new CompletionException(new LogUnavailableException("the log is closed", false)));
    }

    private static ByteString answer(@Nullable RaftClientReply reply, @Nullable Throwable failure) {
        if (reply != null && reply.isSuccess()) {
            return RatisStateMachine.toCairn(reply.getMessage().getContent());
        }
        @Nullable Throwable thrown =
                failure != null || reply == null ? failure : reply.getException();
        @Nullable Throwable cause = thrown == null ? null : Causes.of(thrown);
        if (cause instanceof StateMachineException
                && cause.getCause() instanceof IllegalArgumentException refused) {
            throw new CompletionException(refused);
        }
        throw new CompletionException(
                new LogUnavailableException(
                        cause == null ? "no answer" : String.valueOf(cause.getMessage()),
                        cause instanceof ResourceUnavailableException));
    }

    /**
     * Whether this member believes to lead, and to have applied all earlier entries, right now.
     * Another may already have been elected: reads need a lease besides.
     */
    public boolean isLeader() {
        return division.getInfo().isLeader() && division.getInfo().isLeaderReady();
    }

    /** The newest term this member knows. */
    public long term() {
        return division.getInfo().getCurrentTerm();
    }

    /** The leader's member id as far as known here, 0 if unknown. */
    public int leader() {
        @Nullable RaftPeerId leader = division.getInfo().getLeaderId();
        return leader == null ? 0 : RaftSettings.member(leader);
    }

    /** Index of the last entry in this member's log, committed or not. */
    public long lastIndex() {
        return division.getRaftLog().getNextIndex() - 1;
    }

    /**
     * Whether this member votes, and its word counts: not while it is a new one that has not voted
     * yet, nor while it is joining.
     */
    public boolean votes() {
        return voting.state() == VotingRight.State.VOTING;
    }

    /** The number of this member's attempt to join the group, 0 if it is not joining. */
    public long joining() {
        return voting.attempt();
    }

    /**
     * The leader of the term tells this member what it has to have applied before it votes: the log
     * up to an index that was its last after this attempt began and before a majority without this
     * member confirmed that it leads.
     */
    public void joinUpTo(long attempt, long term, long index) {
        voting.joinUpTo(attempt, term, index);
        later(0, this::tendJoining);
    }

    /** The leader tells this member that the group does not have it yet. */
    public void newcomer(long attempt) {
        try {
            voting.newcomer(attempt);
        } catch (IOException | RuntimeException e) {
            LOG.error("joining failed", e); // and whoever stops the process knows
        }
    }

    /** Votes refused because this member is joining. */
    long refusedVotes() {
        return voting.refused();
    }

    private void tendJoining() {
        try {
            if (voting.applied(state.appliedIndex())) {
                LOG.info("member {} has joined", config.memberId());
            }
        } catch (IOException | RuntimeException e) {
            LOG.error("joining failed", e); // and whoever stops the process knows
        }
    }

    /** Who the members of the group are, and how that is changed. */
    public RaftMembership membership() {
        return membership;
    }

    /** Index of the last entry applied here. */
    public long appliedIndex() {
        return state.appliedIndex();
    }

    public SpaceWatch space() {
        return space;
    }

    /** Figures for metrics and status; reads a directory. */
    public Stats stats() {
        long bytes = 0;
        Path current = directory.raft().resolve(config.clusterId().toString()).resolve("current");
        File[] files = current.toFile().listFiles();
        for (File file : files == null ? new File[0] : files) {
            bytes += file.length();
        }
        @Nullable Position checkpoint = stateMachine.latestCheckpoint();
        return new Stats(
                division.getRaftLog().getLastCommittedIndex(),
                division.getInfo().getLastAppliedIndex(),
                division.getRaftLog().getNextIndex() - 1,
                bytes,
                checkpoint == null ? 0 : checkpoint.index(),
                port.refused());
    }

    /** Once a second: deletes old checkpoints, and takes one after so many entries. */
    private void tendCheckpoints() {
        try {
            checkpoints.dropUnused();
        } catch (IOException | UncheckedIOException e) {
            LOG.warn("a checkpoint no longer needed could not be deleted", e);
        }
        @Nullable Position last = stateMachine.latestCheckpoint();
        long since = division.getInfo().getLastAppliedIndex() - (last == null ? 0 : last.index());
        if (since >= config.snapshotEntries()) {
            checkpoint();
        }
    }

    /**
     * Takes a checkpoint if anything was logged since the last. What was applied until now is
     * flushed here, so that little is left to do on Raft's own thread, where nothing is applied
     * meanwhile.
     */
    private void checkpoint() {
        long applied = division.getInfo().getLastAppliedIndex();
        @Nullable Position last = stateMachine.latestCheckpoint();
        if ((last != null && applied <= last.index()) || stateMachine.checkpointWaits()) {
            return;
        }
        try {
            state.flush();
        } catch (IOException | RuntimeException e) {
            if (!timer.isShutdown()) {
                listener.failed("what was applied could not be written", e);
            }
            return;
        }
        var _ =
                server.snapshotManagementAsync(
                                SnapshotManagementRequest.newCreate(
                                        ClientId.randomId(),
                                        server.getId(),
                                        division.getGroup().getGroupId(),
                                        1,
                                        TimeUnit.MINUTES.toMillis(10)))
                        .whenComplete((reply, failure) -> {
                            if (failure != null) {
                                LOG.warn("a checkpoint was not taken", failure);
                            }
                        });
    }

    /**
     * Stops taking part; a clean stop leaves a checkpoint, so that the next start is quick. No
     * entry's answer is owed after it: Ratis answers none that a leader has appended which steps
     * down while it closes.
     */
    @Override
    public void close() throws IOException {
        endTimer();
        stateMachine.expectClose();
        try {
            server.close();
        } finally {
            closed = true;
            underWay.forEach(MetaLog::answerClosed);
        }
    }

    /** What it does is let finish: an interrupt would fail what is being written. */
    private void endTimer() {
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        timer.shutdown();
        try {
            if (!timer.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("the care for the Raft log does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether checkpoints, and with them the log's being cut, may wait. */
    private boolean roomForLog() {
        return space.freeBytes() > 4 * config.softSpaceBytes();
    }

    private void watchSpace() {
        try {
            if (space.check() == SpaceWatch.Level.OUT) {
                listener.failed(outOfSpace(), new IOException("no space left"));
            }
        } catch (IOException | RuntimeException e) {
            listener.failed("asking for the free space of " + config.directory(), e);
        }
    }

    private String outOfSpace() {
        return "only "
                + ByteSize.text(space.freeBytes())
                + " are free for the Raft log in "
                + config.directory()
                + ", "
                + ByteSize.text(config.hardSpaceBytes())
                + " are the least: make room and start this server again";
    }

    /**
     * @param committed index of the last entry known committed
     * @param applied index of the last entry applied here
     * @param last index of the last entry in the log
     * @param logBytes size of the log's files
     * @param checkpoint index the newest checkpoint reaches to, 0 without one
     * @param refused requests and connections at the Raft port that were no member's
     */
    public record Stats(
            long committed,
            long applied,
            long last,
            long logBytes,
            long checkpoint,
            long refused) {}
}
