package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MoveOp;
import io.cairn.common.proto.MutationResult;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;
import java.util.ArrayList;
import java.util.List;

/**
 * Moves of files into other pools, by a session that copies their chunks. The applying thread only.
 *
 * <pre>
 *        begin            fence             switch
 *   none ─────▶ copying ────────▶ fenced ──────────▶ none, in the new pool
 *                  │ abort            │ abort, or too late
 *                  └──────────────────┴─────▶ none, in the old pool
 * </pre>
 *
 * <p>While it is copied clients go on in the old pool, and cuts go to the chunks of both. A fence
 * is a truncate sequence that cuts nothing. Once all chunks of the old pool have it they refuse
 * what clients send, as clients are not told of it, and so the rest can be copied. With both ends
 * comes another sequence, of which clients are told: they go on where the layout then says. What is
 * in the pool that the file is not in is cut to nothing under that sequence. The sequence stays
 * there as long as the inode lives, so that whatever was sent before, by a client that slept or by
 * the mover, finds chunks that refuse it.
 */
final class Moves {
    /** So many pools may have sequences of a file. */
    static final int MAX_FORMER_POOLS = 64;

    private Moves() {}

    static MutationResult step(StateTx tx, Caller caller, MoveOp op) {
        Inode file = Attributes.requireRegular(tx, op.getInode());
        return switch (op.getStep()) {
            case MOVE_BEGIN -> begin(tx, caller, file, op.getPool());
            case MOVE_FENCE -> fence(tx, caller, file);
            case MOVE_SWITCH -> switchPool(tx, caller, file, op.getFence());
            case MOVE_ABORT -> {
                if (isMover(caller, file)) {
                    end(tx, tx.edit(file.id));
                }
                yield result(tx, file.id, 0);
            }
            case MOVE_STEP_UNSPECIFIED, UNRECOGNIZED ->
                    throw new FsException(Errno.EINVAL, "no step of a move");
        };
    }

    private static MutationResult begin(StateTx tx, Caller caller, Inode file, int pool) {
        LayoutXattr.check(tx.map, file.layoutIn(pool));
        if (!OpenFiles.isOpen(tx, caller.session(), file.id)) {
            throw new FsException(Errno.EBADF, "inode " + file.id + " is not open");
        }
        boolean again = isMover(caller, file) && file.movingPool == pool && !file.fenced;
        if (again && Features.level(tx.settings) < Features.SOUND_MOVES) {
            return result(tx, file.id, 0);
        }
        if (file.movingPool != 0) {
            // By whom does not matter: two that copy one file would overwrite each other's copies.
            throw new FsException(
                    Errno.EBUSY, "inode %d is moved by session %d".formatted(file.id, file.mover));
        }
        if (file.layout.getPool() == pool) {
            throw new FsException(Errno.EEXIST, "inode " + file.id + " is in that pool");
        }
        if (DeletionQueue.isLeft(tx, file.id, pool)) {
            throw new FsException(
                    Errno.EAGAIN,
                    "what inode %d left in pool %d is not gone yet".formatted(file.id, pool));
        }
        OrphanedData.requireNotDeleted(tx, pool, file.id);
        if (file.formerPools.size() >= MAX_FORMER_POOLS) {
            throw new FsException(Errno.EMLINK, "inode " + file.id + " was in too many pools");
        }
        Inode changed = tx.edit(file.id);
        changed.mover = caller.session();
        changed.movingPool = pool;
        PoolUsers.more(tx, changed.layoutIn(pool));
        tx.put(MetaKeys.of(MetaKeys.MOVING, file.id), new byte[0]);
        return result(tx, file.id, 0);
    }

    private static MutationResult fence(StateTx tx, Caller caller, Inode file) {
        requireMover(caller, file);
        if (!file.fenced) {
            Inode changed = tx.edit(file.id);
            Truncations.queueFence(tx, changed);
            changed.fenced = true;
            tx.announce(listener -> listener.fenced(changed.id));
        }
        return result(tx, file.id, tx.require(file.id).truncateSequence);
    }

    private static MutationResult switchPool(StateTx tx, Caller caller, Inode file, long fence) {
        requireMover(caller, file);
        if (!file.fenced || file.truncateSequence != fence) {
            throw new FsException(Errno.ESTALE, "inode " + file.id + " has no such fence");
        }
        if (!file.truncations.isEmpty()) {
            throw new FsException(Errno.EAGAIN, "inode " + file.id + " is still being truncated");
        }
        Inode changed = tx.edit(file.id);
        int old = changed.layout.getPool();
        int pool = changed.movingPool;
        over(tx, changed);
        DeletionQueue.addLeft(tx, changed, old, changed.truncateSequence);
        changed.layout = changed.layoutIn(pool);
        remember(tx, changed, old);
        Truncations.cutLeftovers(tx, changed);
        return result(tx, file.id, 0);
    }

    /** A fence lasts too long: of no effect if it is over. */
    static void ended(StateTx tx, long inode, long fence) {
        Inode file = tx.inode(inode);
        if (file != null && file.fenced && file.truncateSequence == fence) {
            end(tx, tx.edit(inode));
        }
    }

    /** The session holds it open no more, and so moves it no more. */
    static void closed(StateTx tx, long session, Inode file) {
        if (file.movingPool != 0 && file.mover == session) {
            end(tx, file);
        }
    }

    /** The inode is gone: so goes what it has in other pools than its own. */
    static void freed(StateTx tx, Inode file) {
        List<Integer> pools = new ArrayList<>(file.formerPools);
        if (file.movingPool != 0) {
            tx.delete(MetaKeys.of(MetaKeys.MOVING, file.id));
            PoolUsers.fewer(tx, file.layoutIn(file.movingPool));
            pools.remove(Integer.valueOf(file.movingPool));
            pools.add(file.movingPool);
        }
        for (int pool : pools) {
            if (tx.map.pool(pool) != null) {
                PoolUsers.more(tx, file.layoutIn(pool));
                DeletionQueue.addLeft(tx, file, pool, 0);
            }
        }
    }

    /** EAGAIN while chunks refuse what clients send. */
    static void requireUnfenced(Inode file) {
        if (file.fenced) {
            throw new FsException(
                    Errno.EAGAIN, "inode " + file.id + " is about to be in another pool");
        }
    }

    /** It stays where it is. */
    private static void end(StateTx tx, Inode file) {
        int pool = file.movingPool;
        over(tx, file);
        DeletionQueue.addLeft(tx, file, pool, file.truncateSequence);
        remember(tx, file, pool);
        Truncations.cutLeftovers(tx, file);
    }

    private static void over(StateTx tx, Inode file) {
        if (file.fenced) {
            Truncations.dropFence(tx, file, file.truncateSequence);
        }
        file.fenced = false;
        file.mover = 0;
        file.movingPool = 0;
        file.truncateSequence++;
        file.change++; // no time changes, but clients take attributes for news by this alone
        tx.delete(MetaKeys.of(MetaKeys.MOVING, file.id));
    }

    private static void remember(StateTx tx, Inode file, int pool) {
        List<Integer> former = new ArrayList<>(file.formerPools);
        former.removeIf(p -> p == file.layout.getPool() || tx.map.pool(p) == null);
        if (!former.contains(pool)) {
            former.add(pool);
        }
        file.formerPools = List.copyOf(former);
    }

    private static boolean isMover(Caller caller, Inode file) {
        return file.movingPool != 0 && file.mover == caller.session();
    }

    /** ESTALE for everybody else. */
    private static void requireMover(Caller caller, Inode file) {
        if (!isMover(caller, file)) {
            throw new FsException(
                    Errno.ESTALE,
                    "inode %d is not moved by session %d".formatted(file.id, caller.session()));
        }
    }

    private static MutationResult result(StateTx tx, long inode, long fence) {
        return MutationResult.newBuilder()
                .setAttr(OwnChanges.attr(tx, tx.require(inode)))
                .setWaitTruncated(fence)
                .build();
    }
}
