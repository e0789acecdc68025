package io.cairn.dataserver.pg;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.Merge;
import io.cairn.common.data.Split;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Fill;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.PgCommitRequest;
import io.cairn.common.proto.PgFetchOpsReply;
import io.cairn.common.proto.PgFetchOpsRequest;
import io.cairn.common.proto.PgPeerQueryReply;
import io.cairn.common.proto.PgPeerQueryRequest;
import io.cairn.common.proto.Pool;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.IndexDamagedException;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.replication.DiskSpace;
import io.cairn.dataserver.replication.PgOutputs;
import io.cairn.dataserver.replication.PgReplica;
import io.cairn.dataserver.replication.PgState;
import io.cairn.dataserver.replication.Prepare;
import io.cairn.dataserver.replication.PrepareFormat;
import io.cairn.dataserver.replication.PrepareReplyFormat;
import io.cairn.dataserver.replication.RecoveryOutputs;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connects one {@link PgReplica} to its disk and to the other members. Everything happens on the
 * loop that owns the PG; answers that arrive on other threads are handed to it.
 */
public final class PgSlot implements PgOutputs {
    private static final Logger LOG = LoggerFactory.getLogger(PgSlot.class);

    private static final long PEER_DEADLINE_NANOS = 30_000_000_000L;
    private static final int FETCH_BYTES = 4 << 20;

    private final PgLoop owner;
    private final ServerParts parts;
    private final LocalDisk disk;
    private final int pg;
    private final PgReplica replica;
    private final SlotRecovery recovery;
    private final ContentListing listing;

    /** Why it was damaged last. */
    private String damage = "";

    PgSlot(PgLoop owner, ServerParts parts, LocalDisk disk, int pg) {
        this.owner = owner;
        this.parts = parts;
        this.disk = disk;
        this.pg = pg;
        replica = new PgReplica(pg, disk.id(), parts.limits(), this, parts.ledger());
        recovery = new SlotRecovery(owner, parts, disk, replica);
        listing =
                new ContentListing(
                        disk.calls(),
                        owner::execute,
                        after -> disk.store().heads(pg, after, RecoveryMessages.PAGE_HEADS));
    }

    /** To be called on the loop that owns the PG only. */
    public PgReplica replica() {
        return replica;
    }

    public LocalDisk disk() {
        return disk;
    }

    /** What is here, for the primary of a learner. Likewise. */
    public ContentListing listing() {
        return listing;
    }

    // ---- own disk -----------------------------------------------------------------------------

    @Override
    public void append(PgLogEntry entry) {
        try {
            disk.store().append(entry, appended(entry));
        } catch (IndexDamagedException e) {
            throw disk.unusable(e);
        }
    }

    @Override
    public boolean appendIfRoom(PgLogEntry entry) {
        try {
            return disk.store().appendIfRoom(entry, appended(entry));
        } catch (IndexDamagedException e) {
            throw disk.unusable(e);
        }
    }

    private Runnable appended(PgLogEntry entry) {
        return new DurableInbox.Appended(owner.inbox(), this, entry.epoch(), entry.sequence());
    }

    @Override
    public boolean isFlushing() {
        return disk.store().isFlushing();
    }

    @Override
    public boolean overwrites(DataOp op) {
        try {
            return disk.store().overwrites(op);
        } catch (IndexDamagedException e) {
            throw disk.unusable(e);
        }
    }

    @Override
    public void commit(long sequence) {
        disk.store().commit(pg, sequence);
    }

    @Override
    public @Nullable Split splitDue() {
        Split split = owner.splitOf(pg);
        return split == null || disk.store().hasSplit(pg, split) ? null : split;
    }

    @Override
    public @Nullable Merge mergeDue() {
        return owner.mergeDue(pg, replica.epoch(), disk);
    }

    @Override
    public boolean isEnding() {
        return owner.isEnding(pg);
    }

    @Override
    public void dropTail(long lastSequenceKept) {
        LOG.info(
                "Placement group {} on disk {}: dropping what follows operation {}, which no"
                        + " primary committed",
                name(),
                disk.id(),
                lastSequenceKept);
        disk.store()
                .dropTail(
                        pg,
                        lastSequenceKept,
                        () -> owner.execute(() -> replica.onTailDropped(lastSequenceKept)));
    }

    @Override
    public void readEntries(long after) {
        disk.calls()
                .call(
                        () -> entriesAfter(after),
                        entries -> owner.execute(() -> replica.onEntries(entries)),
                        failure -> {
                            LOG.error(
                                    "Placement group {} on disk {}: its log after operation {}"
                                            + " cannot be read now; it is tried again",
                                    name(),
                                    disk.id(),
                                    after,
                                    failure);
                            owner.execute(replica::onEntriesFailed);
                        });
    }

    private List<PgLogEntry> entriesAfter(long after) {
        try {
            return disk.store().entries(pg, after);
        } catch (FsException e) {
            if (e.errno() == Errno.EIO) {
                throw e; // perhaps for a moment
            }
            LOG.error(
                    "Placement group {} on disk {}: its log after operation {} cannot be read: {}",
                    name(),
                    disk.id(),
                    after,
                    e.getMessage());
            return List.of();
        }
    }

    @Override
    public PgLogState logState() {
        return disk.store().logState(pg);
    }

    @Override
    public long truncateSequence(long inode, int chunk) {
        try {
            return disk.store().truncateSequence(pg, inode, chunk);
        } catch (IndexDamagedException e) {
            throw disk.unusable(e);
        }
    }

    @Override
    public DiskSpace space() {
        boolean growing = disk.store().isGrowing(); // first: what it grows by counts then
        return new DiskSpace(disk.store().admissibleBytes(), growing);
    }

    // ---- other members ------------------------------------------------------------------------

    @Override
    public void sendPrepare(Prepare p) {
        int to = p.targetDisk();
        RpcChannel channel = owner.channel(to);
        if (channel == null) {
            later(() -> replica.onPeerLost(to, p.pgEpoch()));
            return;
        }
        long start = System.nanoTime();
        ByteBuf head = PooledByteBufAllocator.DEFAULT.directBuffer(PrepareFormat.encodedLength(p));
        PrepareFormat.encode(p, head);
        channel.call(
                Method.PG_PREPARE_VALUE,
                head,
                p.entry().payload().retainedDuplicate(),
                start + PEER_DEADLINE_NANOS,
                (status, reply, payload) -> prepared(p, start, status, reply));
    }

    private void prepared(Prepare p, long start, RpcStatus status, ByteBuf reply) {
        parts.prepareTimer().recordSince(start, status.ok());
        if (!status.ok()) {
            peerFailed(p.targetDisk(), p.pgEpoch(), status);
            return;
        }
        PrepareReplyFormat.Reply r = PrepareReplyFormat.decode(reply);
        if (owner.inLoop()) {
            replied(p.targetDisk(), r);
        } else {
            later(() -> replied(p.targetDisk(), r));
        }
    }

    private void replied(int from, PrepareReplyFormat.Reply r) {
        if (r.gap()) {
            replica.onPrepareGap(from, r.pgEpoch(), r.sequence());
        } else {
            replica.onPrepareReply(from, r.pgEpoch(), r.sequence(), r.space());
        }
    }

    /**
     * Always as a later task: a call may fail before it returns, and the replica must not be
     * entered from its own output.
     */
    private void peerFailed(int to, long pgEpoch, RpcStatus status) {
        if (status.advice() == Advice.REFRESH_MAP) {
            parts.needMap().run();
        }
        if (status.unanswered()) {
            later(() -> replica.onPeerLost(to, pgEpoch));
        } else {
            later(() -> replica.onPeerRefused(to, pgEpoch));
        }
    }

    @Override
    public void sendQuery(int to, long pgEpoch) {
        RpcChannel channel = owner.channel(to);
        if (channel == null) {
            later(() -> replica.onPeerLost(to, pgEpoch));
            return;
        }
        channel.call(
                Method.PG_PEER_QUERY_VALUE,
                PgPeerQueryRequest.newBuilder().setPg(pg).setDisk(to).setPgEpoch(pgEpoch).build(),
                System.nanoTime() + PEER_DEADLINE_NANOS,
                (status, head, payload) -> {
                    if (!status.ok()) {
                        peerFailed(to, pgEpoch, status);
                        return;
                    }
                    PgPeerQueryReply reply = Heads.parse(PgPeerQueryReply.parser(), head);
                    later(() ->
                            replica.onPeerHistory(
                                    to,
                                    reply.getPgEpoch(),
                                    Messages.history(reply),
                                    Messages.space(reply)));
                });
    }

    @Override
    public void sendFetch(int to, long pgEpoch, long after) {
        RpcChannel channel = owner.channel(to);
        if (channel == null) {
            return;
        }
        channel.call(
                Method.PG_FETCH_OPS_VALUE,
                PgFetchOpsRequest.newBuilder()
                        .setPg(pg)
                        .setDisk(to)
                        .setPgEpoch(pgEpoch)
                        .setAfter(after)
                        .setMaxBytes(FETCH_BYTES)
                        .build(),
                System.nanoTime() + PEER_DEADLINE_NANOS,
                (status, head, payload) -> {
                    if (!status.ok()) {
                        peerFailed(to, pgEpoch, status);
                        return;
                    }
                    PgFetchOpsReply reply = Heads.parse(PgFetchOpsReply.parser(), head);
                    List<PgLogEntry> entries = Messages.entries(reply);
                    later(() -> replica.onFetched(to, pgEpoch, entries));
                });
    }

    @Override
    public void sendCommit(int to, long pgEpoch, long committedSequence) {
        RpcChannel channel = owner.channel(to);
        if (channel == null) {
            later(() -> replica.onPeerLost(to, pgEpoch));
            return;
        }
        channel.call(
                Method.PG_COMMIT_VALUE,
                PgCommitRequest.newBuilder()
                        .setPg(pg)
                        .setDisk(to)
                        .setPgEpoch(pgEpoch)
                        .setCommittedSequence(committedSequence)
                        .build(),
                System.nanoTime() + PEER_DEADLINE_NANOS,
                (status, head, payload) -> {
                    if (status.ok()) {
                        replica.onPeerAlive(to, pgEpoch);
                    } else {
                        peerFailed(to, pgEpoch, status);
                    }
                });
    }

    @Override
    public RecoveryOutputs recovery() {
        return recovery;
    }

    @Override
    public void needMap() {
        parts.needMap().run();
    }

    @Override
    public void memberSilent(int member, long pgEpoch) {
        parts.membership().memberSilent(pg, pgEpoch, member);
    }

    @Override
    public boolean isPoolFull() {
        Pool pool = owner.map().pool(PgHash.poolOf(pg));
        return pool != null && pool.getFill() == Fill.FILL_FULL;
    }

    @Override
    public boolean leaseValid() {
        return parts.lease().valid();
    }

    @Override
    public void stateChanged(PgState state, String reason) {
        if (state == PgState.DAMAGED) {
            damage = reason;
            LOG.error(
                    "Placement group {} is out of service: {}. Keep its disks as they are."
                            + " See \"A placement group is out of"
                            + " service\" in docs/troubleshooting.md",
                    name(),
                    reason);
        } else {
            LOG.debug("Placement group {} on disk {} is {}: {}", name(), disk.id(), state, reason);
        }
    }

    /** Why it is damaged, or what it waits for: for the administrator. */
    String problem() {
        PgState state = replica.state();
        if (state == PgState.DAMAGED) {
            return damage;
        }
        if (replica.belowMinimum()) {
            return "has too few replicas in sync for writes, which wait; reads are served";
        }
        String awaited =
                replica.awaited().stream()
                        .map(d -> "disk %d of data server %s".formatted(d, owner.serverOf(d)))
                        .collect(Collectors.joining(" and "));
        return awaited.isEmpty()
                ? "is " + state.name().toLowerCase(Locale.ROOT)
                : "waits for " + awaited;
    }

    private void later(Runnable task) {
        owner.execute(task);
    }

    private String name() {
        return Integer.toHexString(pg);
    }
}
