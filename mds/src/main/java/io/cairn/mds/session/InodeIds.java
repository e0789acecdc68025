package io.cairn.mds.session;

import io.cairn.common.proto.Mutation;
import io.cairn.mds.namespace.IdRanges;

/** Which mutations get an inode id from the leader, and which only free space. Stateless. */
final class InodeIds {
    private InodeIds() {}

    static boolean wantsInode(Mutation m) {
        return switch (m.getOpCase()) {
            case CREATE, MKDIR, SYMLINK, MKNOD, ACQUIRE_IDS -> true;
            default -> false;
        };
    }

    /** In which it makes something; 0: it makes nothing. */
    static long directory(Mutation m) {
        return switch (m.getOpCase()) {
            case CREATE -> m.getCreate().getParent();
            case MKDIR -> m.getMkdir().getParent();
            case SYMLINK -> m.getSymlink().getParent();
            case MKNOD -> m.getMknod().getParent();
            default -> 0;
        };
    }

    /** How many ids it uses up from the one on that it gets. */
    static int number(Mutation m) {
        if (m.hasAcquireIds()) {
            int count = m.getAcquireIds().getCount();
            return count >= 1 && count <= IdRanges.MAX_IDS ? count : 0;
        }
        return m.getOwnInode() == 0 ? 1 : 0;
    }

    /**
     * With the id the leader has chosen, unless it has one of a range of its session; what the
     * client put there, and a refusal, go.
     */
    static Mutation with(Mutation m, long chosen) {
        long inode = number(m) == 0 ? 0 : chosen;
        Mutation.Builder out = m.toBuilder().clearRefusedErrno();
        switch (m.getOpCase()) {
            case CREATE -> out.getCreateBuilder().setInode(inode);
            case MKDIR -> out.getMkdirBuilder().setInode(inode);
            case SYMLINK -> out.getSymlinkBuilder().setInode(inode);
            case MKNOD -> out.getMknodBuilder().setInode(inode);
            case ACQUIRE_IDS -> out.getAcquireIdsBuilder().setFirst(inode);
            default -> throw new IllegalArgumentException(m.getOpCase() + " makes no inode");
        }
        return out.build();
    }

    /** Allowed when the log's disk is nearly full. */
    static boolean freesSpace(Mutation m) {
        return switch (m.getOpCase()) {
            case UNLINK, RMDIR, RELEASE, REMOVE_XATTR -> true;
            // May be a shrink; growth by truncate writes no data.
            case SET_ATTR -> m.getSetAttr().hasSize();
            // Data that is written already would be lost with its size.
            case GROW -> true;
            // Others wait for it.
            case RETURN_APPEND -> true;
            // Programs take a lock that they cannot have for a broken file system.
            case SET_LOCK -> true;
            // To read, to truncate: the space an open takes in the log comes back with a
            // checkpoint.
            case OPEN -> true;
            default -> false;
        };
    }
}
