package io.cairn.mds.session;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.lease.Delegations;
import io.cairn.mds.lease.LeasedResults;
import io.cairn.mds.lease.ReadLeases;
import io.cairn.mds.lease.WaitingAnswer;
import io.cairn.mds.lease.WriterSizes;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.namespace.SkippedIds;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.raft.SpaceWatch;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Takes batches of mutations through the leader: puts them into the order of their session, fills
 * in inode ids, submits them to the log, and answers them when they are applied. Any thread:
 * requests arrive on event loops and are submitted there; the applying thread sends the answers.
 */
public final class Mutations {
    /** A batch may hold this many; more is no batch but an attack on everybody else's latency. */
    static final int MAX_BATCH = 1024;

    /** What the leader adds to a batch, at most: inode ids, refusals, the time. */
    private static final int ADDED_BYTES = 64 << 10;

    /** A batch is an entry of the log: this large, at most. */
    static final int MAX_BATCH_BYTES = MetaLog.MAX_ENTRY_BYTES - ADDED_BYTES;

    private final Leadership leadership;
    private final EntryLog entries;
    private final ControlReader state;
    private final Control control;
    private final NanoClock clock;
    private final MdsMeters metrics;
    private final SessionTable sessions;
    private final AppendTurns turns;
    private final LockWaits lockWaits;
    private final ReadOpens readOpens;
    private final ReadLeases readLeases;
    private final Delegations delegations;
    private final WriterSizes sizes;
    private final Screening screening;

    /** Guards ids: they must enter the log in the order in which they were given. */
    private final Object submitting = new Object();

    private long nextInode;

    public Mutations(
            Leadership leadership,
            EntryLog entries,
            ControlReader state,
            Control control,
            NanoClock clock,
            MdsMeters metrics) {
        this.leadership = leadership;
        this.entries = entries;
        this.state = state;
        this.control = control;
        this.clock = clock;
        this.metrics = metrics;
        this.sessions = new SessionTable(state, clock, this::submit);
        this.turns = new AppendTurns(leadership, state, sessions, control, clock, metrics);
        this.lockWaits = new LockWaits(leadership, state, sessions, control, clock, metrics);
        this.readOpens = new ReadOpens(state::sessions);
        this.delegations = new Delegations(state, sessions, clock, metrics);
        this.sizes = new WriterSizes(state, sessions, clock, metrics);
        this.readLeases =
                new ReadLeases(
                        leadership::leaseLeftNanos,
                        this::refusal,
                        sessions,
                        delegations::mayBeOf,
                        control::after,
                        clock,
                        metrics);
        this.screening = new Screening(new Features(), () -> Features.level(state.settings()));
    }

    public AppendTurns appendTurns() {
        return turns;
    }

    public LockWaits lockWaits() {
        return lockWaits;
    }

    public ReadOpens readOpens() {
        return readOpens;
    }

    public ReadLeases readLeases() {
        return readLeases;
    }

    public Delegations delegations() {
        return delegations;
    }

    public WriterSizes sizes() {
        return sizes;
    }

    public SessionTable sessions() {
        return sessions;
    }

    /**
     * On becoming leader; before any mutation is taken.
     *
     * @param term the leader's
     */
    public void begin(long term) {
        synchronized (submitting) {
            nextInode = Math.max(nextInode, state.maxInode() + 1);
        }
        sessions.reset();
        readOpens.begin(term);
        turns.begin();
        lockWaits.begin();
        readLeases.begin(term);
        delegations.begin(term);
        sizes.begin(term);
    }

    /** This member no longer leads: batches that wait are refused. */
    public void end() {
        sessions.close(RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, leadership.leaderAddress()));
        readOpens.end();
        turns.end();
        lockWaits.end();
        readLeases.end();
        delegations.end(refusal());
        sizes.end(refusal());
    }

    /** What is answered that this member does not know how to answer any more. */
    private RpcStatus refusal() {
        @Nullable RpcStatus refusal = leadership.refusalOfMutation();
        return refusal != null
                ? refusal
                : RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "the leader has changed meanwhile");
    }

    /** Refuses batches that have waited too long for an earlier number. On the control thread. */
    public void expire(long waitNanos) {
        long before = clock.nanos() - waitNanos;
        for (ClientSession session : sessions.all()) {
            session.order().expire(before);
        }
    }

    public void handle(RpcRequest request) {
        @Nullable RpcStatus refusal = leadership.refusalOfMutation();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        MutateRequest batch = screening.batch(request.head());
        if (batch.getFirstNumber() < 1
                || batch.getMutationsCount() < 1
                || batch.getMutationsCount() > MAX_BATCH) {
            request.fail(
                    RpcStatus.fail(
                            Errno.EINVAL,
                            batch.getMutationsCount()
                                    + " mutations from number "
                                    + batch.getFirstNumber()));
            return;
        }
        if (request.head().readableBytes() > MAX_BATCH_BYTES) {
            request.fail(
                    RpcStatus.fail(
                            Errno.EINVAL,
                            "mutations of "
                                    + request.head().readableBytes()
                                    + " bytes, "
                                    + MAX_BATCH_BYTES
                                    + " are the most"));
            return;
        }
        @Nullable ClientSession session = sessions.get(batch.getSession());
        if (session == null) {
            request.fail(fenced(batch.getSession()));
            return;
        }
        long now = clock.nanos();
        session.renewed(now, request.peer());
        MutationCall call = new MutationCall(request, batch, session.order(), System.nanoTime());
        call.order().arrived(call, call.first(), call.end(), now);
    }

    public static RpcStatus fenced(long session) {
        return RpcStatus.fail(
                Errno.ESTALE, Advice.FENCED, "session " + session + " is not open or was evicted");
    }

    private void submit(MutationCall call) {
        CompletableFuture<ApplyReply> applied;
        synchronized (submitting) {
            applied = entries.submit(LogEntry.newBuilder().setMutate(completed(call)));
        }
        var _ =
                applied.whenComplete((reply, failure) -> {
                    if (failure == null) {
                        answer(call, reply);
                    } else {
                        // On a thread that may hold Raft's locks: neither ours nor the log there.
                        control.execute(() -> failed(call, failure));
                    }
                });
    }

    /**
     * Submits an entry that may use up inode ids, as data of them was found: none of them, and none
     * below, is given out from now on.
     */
    public CompletableFuture<ApplyReply> submitWithIds(LogEntry.Builder entry, List<Long> ids) {
        synchronized (submitting) {
            for (long id : ids) {
                if (SkippedIds.mayBeSkipped(id)) {
                    nextInode = Math.max(nextInode, id + 1);
                }
            }
            return entries.submit(entry);
        }
    }

    private MutateRequest completed(MutationCall call) {
        MutateRequest batch = call.batch();
        MutateRequest.Builder out = batch.toBuilder();
        boolean full = logSpaceLow();
        for (int i = 0; i < batch.getMutationsCount(); i++) {
            Mutation m = batch.getMutations(i);
            if (m.getRefusedErrno() != 0) {
                continue;
            }
            if (full && !InodeIds.freesSpace(m) && !isPromised(m, batch.getSession())) {
                out.setMutations(i, m.toBuilder().setRefusedErrno(Errno.ENOSPC.number()));
            } else if (isOfGoneInode(m)) {
                out.setMutations(i, m.toBuilder().setRefusedErrno(Errno.ENOENT.number()));
            } else if (InodeIds.wantsInode(m)) {
                out.setMutations(i, InodeIds.with(m, nextInode));
                if (m.getCreate().getOpen() || m.getMkdir().getOpen()) {
                    boolean own = m.getOwnInode() != 0;
                    long inode = own ? m.getOwnInode() : nextInode;
                    call.proposed().add(inode);
                    delegations.proposed(batch.getSession(), inode, own);
                }
                nextInode += InodeIds.number(m);
            } else {
                Mutation admitted =
                        m.hasSetLock()
                                ? lockWaits.admitted(m, batch.getSession())
                                : turns.admitted(m, batch.getSession());
                if (!admitted.equals(m)) {
                    out.setMutations(i, admitted);
                }
            }
        }
        return out.build();
    }

    /** A program may have been told that it was done: then it is not refused for want of space. */
    private boolean isPromised(Mutation m, long session) {
        if (m.hasRename()) {
            return delegations.mayBeOf(session, m.getRename().getParent())
                    && delegations.mayBeOf(session, m.getRename().getNewParent());
        }
        long inode = m.getOwnInode() != 0 ? InodeIds.directory(m) : m.getSetAttr().getInode();
        return inode != 0 && delegations.mayBeOf(session, inode);
    }

    /** A file about to be freed is gone for clients. */
    private boolean isOfGoneInode(Mutation m) {
        return switch (m.getOpCase()) {
            case OPEN -> isGone(m.getOpen().getInode());
            case SET_ATTR -> isGone(m.getSetAttr().getInode());
            case SET_XATTR -> isGone(m.getSetXattr().getInode());
            case REMOVE_XATTR -> isGone(m.getRemoveXattr().getInode());
            default -> false;
        };
    }

    /** Whether it has no name and nobody has it open. Any thread. */
    public boolean isGone(long inode) {
        return state.isUnused(inode) && !readOpens.mayBeOpen(inode);
    }

    /**
     * A cut of a file that others have open for reading: its caller, too, waits until all chunks
     * are cut, so that nobody reads what is gone.
     */
    private List<MutationResult> withWaits(MutateRequest batch, List<MutationResult> results) {
        List<MutationResult> completed = results;
        for (int i = 0; i < results.size(); i++) {
            MutationResult result = results.get(i);
            Attr attr = result.getAttr();
            if (batch.getMutations(i).getSetAttr().hasSize()
                    && result.getErrno() == 0
                    && result.getWaitTruncated() == 0
                    && attr.getPendingTruncationsCount() > 0
                    && readOpens.mayBeOpenBeside(batch.getSession(), attr.getInode())) {
                completed = completed == results ? new ArrayList<>(results) : completed;
                completed.set(
                        i, result.toBuilder().setWaitTruncated(attr.getTruncateSequence()).build());
            }
        }
        return completed;
    }

    private boolean logSpaceLow() {
        @Nullable MetaLog log = entries.log();
        return log != null && log.space().level() != SpaceWatch.Level.PLENTY;
    }

    private void answer(MutationCall call, ApplyReply reply) {
        boolean executed = reply.getErrno() == 0;
        if (call.order().ended(executed)) {
            control.execute(call.order()::resume);
        }
        if (executed) {
            readLeases.whenForgotten(reply.getIndex(), new Executed(call, reply));
        } else {
            notDelegated(call);
            call.request().fail(refusal(call, reply));
            metrics.mutations(call.batch(), reply, call.startNanos());
        }
    }

    private void notDelegated(MutationCall call) {
        call.proposed().forEach(inode -> delegations.over(call.batch().getSession(), inode));
        call.proposed().clear();
    }

    /**
     * What was made is delegated, what was closed is not any more. Where space is low, clients are
     * to wait for what they make: they are not told that it is delegated, nor, with an id of their
     * own, that the directory still is.
     */
    private List<MutationResult> withDelegations(MutationCall call, List<MutationResult> results) {
        long session = call.batch().getSession();
        List<MutationResult> completed = results;
        for (int i = 0; i < results.size(); i++) {
            MutationResult result = results.get(i);
            Mutation mutation = call.batch().getMutations(i);
            long inode = result.getAttr().getInode();
            long round = 0;
            if (mutation.hasRelease()) {
                delegations.over(session, mutation.getRelease().getInode());
            } else if ((result.getCreated() || (mutation.hasMkdir() && result.getErrno() == 0))
                    && call.proposed().remove(inode)) {
                round = delegations.granted(session, inode);
            } else if (mutation.getOwnInode() != 0 && result.getErrno() == 0) {
                round = delegations.round(session);
            }
            if (round != 0 && !logSpaceLow()) {
                completed = completed == results ? new ArrayList<>(results) : completed;
                completed.set(i, result.toBuilder().setDelegation(round).build());
            }
        }
        notDelegated(call);
        return completed;
    }

    /** An answer that may have to wait until others have forgotten what it contradicts. */
    private final class Executed implements WaitingAnswer {
        private final MutationCall call;
        private final ApplyReply reply;

        Executed(MutationCall call, ApplyReply reply) {
            this.call = call;
            this.reply = reply;
        }

        @Override
        public void send() {
            MutateReply.Builder answer = MutateReply.newBuilder();
            List<MutationResult> leased = LeasedResults.of(readLeases, call.batch(), reply);
            answer.addAllResults(withDelegations(call, withWaits(call.batch(), leased)));
            call.request().reply(answer.build());
            metrics.mutations(call.batch(), reply, call.startNanos());
        }

        @Override
        public void refuse(RpcStatus status) {
            notDelegated(call);
            call.request().fail(status);
            metrics.mutations(call.batch(), reply, call.startNanos());
        }
    }

    private static RpcStatus refusal(MutationCall call, ApplyReply reply) {
        return switch (Errno.of(reply.getErrno())) {
            case ESTALE -> fenced(call.batch().getSession());
            // A gap, unacknowledged answers, ids used up by another leader: it passes.
            case EAGAIN, EBUSY, EEXIST ->
                    RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, reply.getDetail());
            default -> RpcStatus.fail(Errno.of(reply.getErrno()), reply.getDetail());
        };
    }

    private void failed(MutationCall call, Throwable failure) {
        if (call.order().ended(false)) {
            call.order().resume();
        }
        notDelegated(call);
        call.request().fail(leadership.unavailable(failure));
    }
}
