package io.cairn.dataserver.pg;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PgLearnerAskRequest;
import io.cairn.common.proto.PgLearnerCompletedRequest;
import io.cairn.common.proto.PgListContentReply;
import io.cairn.common.proto.PgListContentRequest;
import io.cairn.common.proto.PgPeerQueryReply;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcCallback;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.replication.ContentPage;
import io.cairn.dataserver.replication.PgReplica;
import io.cairn.dataserver.replication.RecoveryOutputs;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.PgLogEntry;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects recovery of one {@link PgReplica} to its disk, to the learners and to the metadata
 * service. Called on the loop that owns the PG; answers that arrive on other threads are handed to
 * it.
 */
final class SlotRecovery implements RecoveryOutputs {
    private static final Logger LOG = LoggerFactory.getLogger(SlotRecovery.class);

    /** A step that takes longer has failed: operations may be waiting for it. */
    static final long STEP_NANOS = 2_000_000_000L;

    private static final long READ_AGAIN_NANOS = 1_000_000_000L;
    private static final long RESET_AGAIN_NANOS = 10_000_000_000L;
    private static final int FETCH_BYTES = 4 << 20;

    private final PgLoop owner;
    private final ServerParts parts;
    private final LocalDisk disk;
    private final int pg;
    private final PgReplica replica;

    /** Pages that are being listed here: they are asked for again and again. */
    private final Set<PageNumber> listing = new HashSet<>();

    private record PageNumber(long pgEpoch, long number) {}

    SlotRecovery(PgLoop owner, ServerParts parts, LocalDisk disk, PgReplica replica) {
        this.owner = owner;
        this.parts = parts;
        this.disk = disk;
        this.pg = replica.pg();
        this.replica = replica;
    }

    // ---- at the primary -----------------------------------------------------------------------

    @Override
    public void readEntriesFor(int to, long pgEpoch, long after) {
        disk.calls()
                .call(
                        () -> entries(after),
                        entries ->
                                owner.execute(
                                        () -> replica.onEntriesFor(to, pgEpoch, after, entries)),
                        failure -> {
                            LOG.warn("{}: its log cannot be read now, tried again", this, failure);
                            owner.after(READ_AGAIN_NANOS, () -> readAgain(to, pgEpoch, after));
                        });
    }

    private void readAgain(int to, long pgEpoch, long after) {
        if (replica.epoch() == pgEpoch && !disk.isOut()) {
            readEntriesFor(to, pgEpoch, after);
        }
    }

    /** None if the log does not reach back so far. */
    private List<PgLogEntry> entries(long after) {
        try {
            return disk.store().entries(pg, after, FETCH_BYTES);
        } catch (FsException e) {
            if (e.errno() == Errno.ENODATA) {
                return List.of();
            }
            throw e;
        }
    }

    @Override
    public void sentMissed(int bytes) {
        parts.resentBytes().increment(bytes);
    }

    @Override
    public void sendAsk(int to, long pgEpoch, long number, long shared) {
        if (!owner.isUp(to) || parts.holds().recoveryPaused()) {
            return; // it is asked again soon
        }
        call(
                to,
                Method.PG_LEARNER_ASK_VALUE,
                PgLearnerAskRequest.newBuilder()
                        .setPg(pg)
                        .setDisk(to)
                        .setPgEpoch(pgEpoch)
                        .setNumber(number)
                        .setShared(shared)
                        .build(),
                Heads.reply(
                        PgPeerQueryReply.parser(),
                        (status, reply) -> {
                            if (reply == null) {
                                refused(status);
                                return;
                            }
                            owner.execute(() ->
                                    replica.onLearnerHistory(
                                            to,
                                            reply.getPgEpoch(),
                                            number,
                                            Messages.history(reply)));
                        }));
    }

    @Override
    public void sendReset(int to, long pgEpoch, Reset reset, Step step) {
        if (!reset.fits()) {
            String why = "more mutations of clients wait for others than a learner's log takes";
            LOG.warn("{}: the replica on disk {} cannot begin anew now: {}", this, to, why);
            RpcStatus status = RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, why);
            owner.after(RESET_AGAIN_NANOS, () -> step.failed(status));
            return;
        }
        LOG.info(
                "{}: the replica on disk {} begins anew at operation {}",
                this,
                to,
                reset.sequence());
        step(
                to,
                Method.PG_LEARNER_RESET_VALUE,
                RecoveryMessages.reset(pg, to, pgEpoch, reset),
                step);
    }

    @Override
    public void listContent(long pgEpoch, long number, Key after) {
        PageNumber asked = new PageNumber(pgEpoch, number);
        if (!listing.add(asked)) {
            return;
        }
        disk.calls()
                .call(
                        () -> disk.store().heads(pg, after, RecoveryMessages.PAGE_HEADS),
                        heads ->
                                listed(
                                        asked,
                                        () -> replica.onOwnContent(pgEpoch, page(number, heads))),
                        failure ->
                                listed(
                                        asked,
                                        () ->
                                                LOG.warn(
                                                        "{}: its content cannot be listed now,"
                                                                + " tried again: {}",
                                                        this,
                                                        failure.toString())));
    }

    private void listed(PageNumber asked, Runnable then) {
        owner.execute(() -> {
            listing.remove(asked);
            then.run();
        });
    }

    private static ContentPage page(long number, List<ContentHead> heads) {
        return new ContentPage(number, heads, heads.size() < RecoveryMessages.PAGE_HEADS);
    }

    @Override
    public void sendListContent(int to, long pgEpoch, long number, Key after) {
        call(
                to,
                Method.PG_LIST_CONTENT_VALUE,
                PgListContentRequest.newBuilder()
                        .setPg(pg)
                        .setDisk(to)
                        .setPgEpoch(pgEpoch)
                        .setAfterInode(after.inode())
                        .setAfterChunk(after.chunk())
                        .setNumber(number)
                        .build(),
                Heads.reply(
                        PgListContentReply.parser(),
                        (status, reply) -> {
                            if (reply == null) {
                                refused(status);
                                return;
                            }
                            ContentPage page = RecoveryMessages.page(number, reply);
                            owner.execute(() -> replica.onPeerContent(to, pgEpoch, page));
                        }));
    }

    @Override
    public boolean mayJoin() {
        return !owner.isTied(replica.pg());
    }

    @Override
    public long firstMerge() {
        return disk.store().firstMerge(pg);
    }

    @Override
    public boolean mayCopy(int to) {
        return !parts.holds().recoveryPaused() && parts.pace().allows(to);
    }

    @Override
    public void copy(int to, long pgEpoch, Copy copy, Base base, Step step) {
        CopyCall.Target target = new CopyCall.Target(to, pgEpoch, base);
        new CopyCall(owner, this, disk, replica, target, copy, parts, step).start();
    }

    @Override
    public void sendCompleted(int to, long pgEpoch, long number, Step step) {
        step(
                to,
                Method.PG_LEARNER_COMPLETED_VALUE,
                PgLearnerCompletedRequest.newBuilder()
                        .setPg(pg)
                        .setDisk(to)
                        .setPgEpoch(pgEpoch)
                        .setNumber(number)
                        .build(),
                step);
    }

    @Override
    public void askToJoin(int to, long pgEpoch) {
        parts.membership().askToJoin(pg, pgEpoch, to);
    }

    private void step(int to, int method, MessageLite request, Step step) {
        boolean sent = call(to, method, request, (status, head, payload) -> ended(status, step));
        if (!sent) {
            ended(RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_MAP, "unknown disk " + to), step);
        }
    }

    /** The step is over, on whatever thread that is known. */
    void ended(RpcStatus status, Step step) {
        if (status.ok()) {
            owner.execute(step::done);
        } else {
            refused(status);
            owner.execute(() -> step.failed(status));
        }
    }

    /** Returns false if the map does not know the disk: then there is no answer. */
    private boolean call(int to, int method, MessageLite request, RpcCallback callback) {
        RpcChannel channel = owner.channel(to);
        if (channel != null) {
            channel.call(method, request, System.nanoTime() + STEP_NANOS, callback);
        }
        return channel != null;
    }

    private void refused(RpcStatus status) {
        if (status.advice() == Advice.REFRESH_MAP) {
            parts.needMap().run();
        }
    }

    // ---- at the learner -----------------------------------------------------------------------

    @Override
    public void reset(Reset reset, Step step) {
        LOG.info(
                "{}: begins anew at operation {}; what it lacks is copied to it",
                this,
                reset.sequence());
        disk.store()
                .reset(
                        pg,
                        reset.epoch(),
                        reset.sequence(),
                        reset.answered(),
                        reset.distrusted(),
                        () -> owner.execute(step::done));
    }

    @Override
    public void copiedTo(Key key) {
        disk.store().copiedTo(pg, key);
    }

    @Override
    public void completed(Step step) {
        LOG.info("{}: has everything that was copied to it", this);
        disk.store().completed(pg, () -> owner.execute(step::done));
    }

    @Override
    public String toString() {
        return "Placement group %x on disk %d".formatted(pg, disk.id());
    }
}
