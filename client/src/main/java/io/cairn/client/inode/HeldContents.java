package io.cairn.client.inode;

import io.cairn.client.api.ContentHolder;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Tells who keeps contents of files what this client does to them. Any thread. */
public final class HeldContents {
    private volatile @Nullable ContentHolder holder;

    /** Inodes with writes that have failed and may still be carried out, as the session lasts. */
    private final Set<Long> unsettled = ConcurrentHashMap.newKeySet();

    public void hold(ContentHolder by) {
        holder = by;
    }

    /** What was sent in earlier sessions has ended with them. */
    public void sessionOpened() {
        unsettled.clear();
    }

    /** A mutation was answered. */
    public void mutated(Mutation mutation, MutationResult result) {
        ContentHolder told = holder;
        Attr attr = result.getAttr();
        if (told == null || !attr.hasChangedFrom() || !Mode.isRegular(attr.getMode())) {
            return;
        }
        boolean resized = mutation.hasSetAttr() && mutation.getSetAttr().hasSize();
        boolean changed = attr.getChangedFrom() != attr.getChange();
        if (changed && !resized && !unsettled.contains(attr.getInode())) {
            told.changedHere(attr.getInode(), attr.getChangedFrom(), attr.getChange());
        }
    }

    /**
     * A write was sent and is over. Before what it did is published.
     *
     * @param awaited whether its caller was told nothing yet
     * @param failed whether it has failed, and may have been carried out all the same, or in part
     */
    void written(long inode, boolean awaited, boolean failed) {
        ContentHolder told = holder;
        if (told == null) {
            return;
        }
        if (failed) {
            unsettled.add(inode);
        }
        if (!awaited) {
            told.changedUnseen(inode);
        }
    }
}
