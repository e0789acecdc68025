package io.cairn.dataserver.service;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.BadBlock;
import io.cairn.dataserver.chunk.ChunkVersion;
import io.cairn.dataserver.ground.DataServerMeters;
import io.cairn.dataserver.pg.DamagedBlocks;
import io.cairn.dataserver.pg.FoundDamage;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.service.PgBlockFormat.PgBlock;
import io.cairn.dataserver.store.BlockRepair;
import io.cairn.dataserver.store.CorruptBlockException;
import io.cairn.dataserver.store.RepairOutcome;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Repairs blocks that are damaged on a disk of this server from other replicas, whatever the role
 * of the replica here. A range with damage is read; its first bad block is fetched, with the
 * version of its chunk, from a member that has it; the store takes the block only while its own
 * chunk has the same version. Then the range is read again, until it is clean. A learner's block
 * whose chunk is yet to be copied waits for the copy. Each PG's repairs run on its loop; {@link
 * #found} may be called by any thread.
 */
public final class Repairs implements DamagedBlocks {
    private static final Logger LOG = LoggerFactory.getLogger(Repairs.class);

    private static final long DEADLINE_NANOS = 10_000_000_000L;

    /** While a chunk is being written its versions differ between replicas for a moment. */
    private static final long RETRY_NANOS = 20_000_000;

    private static final int MAX_RETRIES = 100;

    /** A block whose chunk is yet to be copied is looked at so often. */
    private static final long COPY_NANOS = 5_000_000_000L;

    private final DataServerMeters meters;
    private final Set<Damage> active = ConcurrentHashMap.newKeySet();

    /** A range of blocks in which something is bad. */
    private record Damage(int disk, int pg, long inode, int chunk, int firstBlock, int blocks) {}

    public Repairs(DataServerMeters meters) {
        this.meters = meters;
    }

    @Override
    public void found(
            PgLoop owner, int disk, int pg, long inode, int chunk, int offset, int lengthBytes) {
        int first = offset / BlockCrc.BLOCK_BYTES;
        int blocks = BlockCrc.count(offset, lengthBytes);
        Damage damage = new Damage(disk, pg, inode, chunk, first, blocks);
        if (blocks > 0 && active.add(damage)) {
            owner.execute(() -> {
                PgSlot slot = owner.slot(pg, disk);
                if (slot == null) {
                    active.remove(damage);
                } else {
                    new Repair(owner, slot, damage).read();
                }
            });
        }
    }

    /** The repair of one range. On the PG's loop. */
    private final class Repair {
        private final PgLoop owner;
        private final PgSlot slot;
        private final Damage damage;
        private int block = -1;
        private int retries;
        private String cause = "";
        private boolean awaitsCopy;

        Repair(PgLoop owner, PgSlot slot, Damage damage) {
            this.owner = owner;
            this.slot = slot;
            this.damage = damage;
        }

        void read() {
            int from = Math.max(block, damage.firstBlock());
            int blocks = damage.firstBlock() + damage.blocks() - from;
            slot.disk()
                    .store()
                    .read(
                            damage.pg(),
                            damage.inode(),
                            damage.chunk(),
                            from * BlockCrc.BLOCK_BYTES,
                            blocks * BlockCrc.BLOCK_BYTES,
                            (data, crcs, failure) -> {
                                if (data != null) {
                                    data.release();
                                }
                                owner.execute(() -> wasRead(failure));
                            });
        }

        private void wasRead(@Nullable CorruptBlockException failure) {
            FoundDamage known = slot.disk().damage();
            if (block >= 0 && (failure == null || failure.block() != block)) {
                known.repaired();
            }
            int end = damage.firstBlock() + damage.blocks();
            int readable = failure == null ? end : failure.block();
            known.readable(
                    damage.pg(),
                    damage.inode(),
                    damage.chunk(),
                    damage.firstBlock(),
                    readable - damage.firstBlock());
            if (failure == null) {
                active.remove(damage);
                return;
            }
            cause = String.valueOf(failure.getMessage());
            int bad = failure.block();
            boolean isNew = bad != block || bad == CorruptBlockException.UNKNOWN;
            block = bad;
            if (isNew) {
                retries = 0;
                if (!known.isQuarantined(badBlock())) {
                    meters.corruptBlock();
                    known.found();
                }
            }
            if (bad == CorruptBlockException.UNKNOWN) {
                fail("no replica can help");
            } else {
                fetch(0);
            }
        }

        private void fetch(int member) {
            int[] members = owner.members(damage.pg());
            if (member >= members.length) {
                fail("no other replica has it");
                return;
            }
            RpcChannel channel =
                    members[member] == damage.disk() ? null : owner.channel(members[member]);
            if (channel == null) {
                fetch(member + 1);
                return;
            }
            ByteBuf head = PooledByteBufAllocator.DEFAULT.directBuffer(PgBlockFormat.LENGTH);
            PgBlockFormat.encode(
                    new PgBlock(
                            members[member],
                            slot.replica().epoch(),
                            damage.pg(),
                            damage.inode(),
                            damage.chunk(),
                            block),
                    head);
            channel.call(
                    Method.PG_READ_BLOCK_VALUE,
                    head,
                    Unpooled.EMPTY_BUFFER,
                    System.nanoTime() + DEADLINE_NANOS,
                    (status, reply, content) -> {
                        ChunkVersion version = verified(status, reply, content);
                        ByteBuf kept = version == null ? Unpooled.EMPTY_BUFFER : content.retain();
                        owner.execute(() -> fetched(member, version, kept));
                    });
        }

        private void fetched(int member, @Nullable ChunkVersion version, ByteBuf content) {
            if (version == null) {
                fetch(member + 1);
                return;
            }
            BlockRepair repair =
                    new BlockRepair(damage.inode(), damage.chunk(), block, version, content);
            slot.disk()
                    .store()
                    .repair(
                            damage.pg(),
                            repair,
                            outcome -> owner.execute(() -> ended(outcome, member)));
            content.release();
        }

        private void ended(RepairOutcome outcome, int member) {
            switch (outcome) {
                case LOGGED -> {
                    meters.blockRepaired();
                    LOG.warn(
                            "{} was damaged ({}): repaired from disk {}",
                            where(),
                            cause,
                            from(member));
                    retry("it does not stay repaired");
                }
                case CHANGED -> {
                    if (retries >= MAX_RETRIES && !isInSync()) {
                        awaitCopy();
                    } else {
                        retry("its chunk is being written all the time");
                    }
                }
                case DIFFERENT -> {
                    LOG.error(
                            "{}: disk {} has a block of the same version with other content",
                            where(),
                            from(member));
                    fetch(member + 1);
                }
                case LACKING -> awaitCopy();
                case NO_SPACE -> fail("the disk is full");
            }
        }

        private void retry(String reasonToStop) {
            if (++retries > MAX_RETRIES) {
                fail(reasonToStop);
            } else if (retries == 1) {
                read();
            } else {
                owner.after(RETRY_NANOS, this::read);
            }
        }

        private boolean isInSync() {
            return IntStream.of(owner.members(damage.pg())).anyMatch(m -> m == damage.disk());
        }

        /** A learner's block need not be what the others have. It is looked at when it may be. */
        private void awaitCopy() {
            if (owner.slot(damage.pg(), damage.disk()) != slot) {
                active.remove(damage);
                return;
            }
            if (!awaitsCopy) {
                awaitsCopy = true;
                LOG.info(
                        "{} is damaged ({}), and its chunk is yet to be copied to this disk",
                        where(),
                        cause);
            }
            owner.after(COPY_NANOS, this::read);
        }

        private String from(int member) {
            int[] members = owner.members(damage.pg());
            return member < members.length ? Integer.toString(members[member]) : "?";
        }

        private void fail(String why) {
            active.remove(damage);
            FoundDamage known = slot.disk().damage();
            if (known.isQuarantined(badBlock())) {
                return; // tried again, and told before
            }
            meters.blockRepairFailed();
            LOG.error(
                    "{} is damaged ({}) and was not repaired: {}. It is in quarantine: reads of it"
                            + " fail, and its repair is tried again, until it is overwritten",
                    where(),
                    cause,
                    why);
            if (block != CorruptBlockException.UNKNOWN) {
                known.quarantine(badBlock(), why);
            }
        }

        private BadBlock badBlock() {
            return new BadBlock(damage.pg(), damage.inode(), damage.chunk(), block);
        }

        private String where() {
            return "Server %s, disk %d: block %d of chunk %d of inode %x, placement group %x"
                    .formatted(
                            owner.serverOf(damage.disk()),
                            damage.disk(),
                            block,
                            damage.chunk(),
                            damage.inode(),
                            damage.pg());
        }
    }

    /** Null unless the answer is an intact block. */
    private static @Nullable ChunkVersion verified(
            RpcStatus status, ByteBuf reply, ByteBuf content) {
        if (!status.ok()) {
            return null;
        }
        try {
            PgBlockFormat.Reply r = PgBlockFormat.decodeReply(reply);
            int length = content.readableBytes();
            boolean right =
                    length <= BlockCrc.BLOCK_BYTES && r.crc() == BlockCrc.of(content.nioBuffer());
            return right ? r.version() : null;
        } catch (FsException e) {
            LOG.warn("Another replica's answer is not valid: {}", e.getMessage());
            return null;
        }
    }
}
