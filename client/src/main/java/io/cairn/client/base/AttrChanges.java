package io.cairn.client.base;

import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;

/** Changes of attributes as the MDS makes them. Stateless. */
public final class AttrChanges {
    private AttrChanges() {}

    /**
     * @param op not of the size
     * @param time of the mutation
     */
    public static void apply(SetAttrOp op, Timespec time, Attr.Builder attr) {
        if (op.hasMtime()) {
            Timespec mtime = op.getMtime();
            attr.setMtime(op.getMtimeNow() ? Times.after(attr.getCtime(), mtime) : mtime);
        }
        if (op.hasAtime()) {
            attr.setAtime(op.getAtime());
        }
        attr.setCtime(Times.after(attr.getCtime(), time));
        if (op.hasUid()) {
            attr.setUid(op.getUid());
        }
        if (op.hasGid()) {
            attr.setGid(op.getGid());
        }
        boolean taken = op.hasUid() || op.hasGid() || op.getKillSuidSgid();
        if (taken && !Mode.isDirectory(attr.getMode())) {
            attr.setMode(Mode.withoutPrivileges(attr.getMode()));
        }
        if (op.hasMode()) {
            attr.setMode(Mode.type(attr.getMode()) | Mode.permissions(op.getMode()));
        }
    }
}
