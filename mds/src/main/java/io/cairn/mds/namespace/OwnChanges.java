package io.cairn.mds.namespace;

import io.cairn.common.proto.Attr;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.StateTx;

/**
 * The inode in the result of a mutation, which says which changes of it are the mutation's. The
 * applying thread only.
 */
final class OwnChanges {
    private OwnChanges() {}

    static Attr attr(StateTx tx, Inode inode) {
        return Features.level(tx.settings) < Features.OWN_CHANGES
                ? inode.toAttr()
                : inode.toAttr(tx.changeBefore(inode.id, inode.change));
    }
}
