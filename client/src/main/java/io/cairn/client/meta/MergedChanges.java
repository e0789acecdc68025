package io.cairn.client.meta;

import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.SetAttrOp;
import org.jspecify.annotations.Nullable;

/** Two changes of the attributes of a file as one, which the MDS makes the same of. Stateless. */
final class MergedChanges {
    private MergedChanges() {}

    /**
     * The second with the first in it, at the time of the second, which is the later one.
     *
     * @return null where both together would be something else, or are not of one file
     */
    static @Nullable Mutation of(Mutation first, Mutation second) {
        SetAttrOp one = first.getSetAttr();
        SetAttrOp two = second.getSetAttr();
        boolean changes = first.hasSetAttr() && second.hasSetAttr();
        if (!changes
                || one.getInode() != two.getInode()
                || !first.getCredentials().equals(second.getCredentials())
                || !isPlain(one)
                || !isPlain(two)) {
            return null;
        }
        // Of one operation the mode is set after a new owner has taken the privileges.
        boolean taken = two.hasUid() || two.hasGid();
        if (taken && one.hasMode() && Mode.hasPrivileges(one.getMode())) {
            return null;
        }
        SetAttrOp.Builder both = one.toBuilder();
        if (two.hasAtime()) {
            both.clearAtime(); // parts of messages are merged as well
        }
        if (two.hasMtime()) {
            both.clearMtime();
        }
        return second.toBuilder().setSetAttr(both.mergeFrom(two)).build();
    }

    /** It does not depend on what the file is at that moment. */
    private static boolean isPlain(SetAttrOp op) {
        return !op.hasSize() && !op.getMtimeNow() && !op.getKillSuidSgid();
    }
}
