package io.cairn.mds.namespace;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Truncation;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.StateTx;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Cuts of a file that its chunks do not have yet. The applying thread only.
 *
 * <p>Chunks may hold bytes between the size and the ceiling, because a session publishes the size
 * that its writes made only later. While that session holds the file open, it may still publish
 * them. Once it has ended, these leftovers must be cut before the size grows over them, for a hole
 * reads as zeros. Other sessions that hold the file open may have bytes there too. Then the cut
 * waits until they have closed the file, which publishes their bytes, or until the size is set. The
 * same holds for what a session says that a failed write of it has left.
 */
final class Truncations {
    /** Cuts of one file that may wait for the data servers at a time. */
    static final int MAX_PENDING = 4;

    private Truncations() {}

    /**
     * Where the chunks must be cut for the file to take this size; empty where they need not. A
     * shrink cuts at the new size. So does every other change of size while other sessions hold the
     * file open: what they have written beyond it and not published was written before, and goes.
     * Without others, leftovers are cut where the size was. EAGAIN while too many cuts are pending.
     *
     * @param shared whether sessions other than the caller's hold the file open
     */
    static OptionalLong cutFor(Inode file, long size, boolean shared) {
        long cut = shared ? size : Math.min(size, file.size);
        if (cut >= file.ceiling || (size >= file.size && !shared && !file.leftovers)) {
            return OptionalLong.empty();
        }
        if (file.truncations.size() >= MAX_PENDING) {
            throw new FsException(Errno.EAGAIN, "inode " + file.id + " is still being truncated");
        }
        Moves.requireUnfenced(file);
        return OptionalLong.of(cut);
    }

    /**
     * Nothing of the file is left at or beyond {@code size}. Leftovers below it are beyond help:
     * the file's new size covers them.
     */
    static void queue(StateTx tx, Inode file, long size) {
        queue(tx, file, size, file.truncateSequence + 1);
        file.cutSequence = file.truncateSequence;
        file.leftovers = false;
    }

    /** Nothing is cut, but all chunks get a new sequence, and refuse requests of older ones. */
    static void queueFence(StateTx tx, Inode file) {
        if (file.truncations.size() >= MAX_PENDING) {
            throw new FsException(Errno.EAGAIN, "inode " + file.id + " is still being truncated");
        }
        queue(tx, file, file.ceiling, file.truncateSequence + 1);
    }

    /** It is over: what chunks have of it stands for nothing any more. */
    static void dropFence(StateTx tx, Inode file, long fence) {
        if (!file.truncations.isEmpty()) {
            file.truncations =
                    file.truncations.stream().filter(t -> t.getSequence() != fence).toList();
            if (file.truncations.isEmpty()) {
                tx.delete(MetaKeys.of(MetaKeys.TRUNCATING, file.id));
            }
        }
    }

    private static void queue(StateTx tx, Inode file, long size, long sequence) {
        file.truncateSequence = sequence;
        List<Truncation> pending = new ArrayList<>(file.truncations);
        pending.add(
                Truncation.newBuilder().setSequence(file.truncateSequence).setSize(size).build());
        file.truncations = List.copyOf(pending);
        tx.put(MetaKeys.of(MetaKeys.TRUNCATING, file.id), new byte[0]);
        tx.announce(listener -> listener.truncationPending(file.id));
    }

    /** A session that held it open has ended and will publish nothing more. */
    static void abandoned(Inode inode) {
        if (inode.isRegular() && inode.size < inode.ceiling) {
            inode.leftovers = true;
        }
    }

    /**
     * A session that has nothing in flight may have left bytes beyond the size, by a write that
     * failed. They are cut at once if no other session holds the file open, which could have bytes
     * there too.
     */
    static void left(StateTx tx, long session, Inode file) {
        if (file.size >= file.ceiling) {
            return;
        }
        file.leftovers = true;
        if (OpenFiles.noneBut(tx, session, file)
                && !file.fenced
                && file.truncations.size() < MAX_PENDING) {
            queue(tx, file, file.size);
        }
    }

    /** Cuts off what ended sessions have left, if nobody holds it open. */
    static void cutLeftovers(StateTx tx, Inode file) {
        if (!file.leftovers
                || OpenFiles.writers(tx, file) > 0
                || file.fenced
                || file.truncations.size() >= MAX_PENDING) {
            return;
        }
        if (file.size < file.ceiling) {
            queue(tx, file, file.size);
            // No time changes, but clients take attributes for news by this alone.
            file.change++;
        }
        file.leftovers = false;
    }

    /** All chunks have the cuts up to this one. */
    static void applied(StateTx tx, long id, long sequence) {
        Inode inode = tx.inode(id);
        if (inode == null || inode.truncations.isEmpty()) {
            return;
        }
        Inode changed = tx.edit(id);
        changed.truncations =
                inode.truncations.stream().filter(t -> t.getSequence() > sequence).toList();
        cutLeftovers(tx, changed);
        if (changed.truncations.isEmpty()) {
            tx.delete(MetaKeys.of(MetaKeys.TRUNCATING, id));
        }
    }
}
