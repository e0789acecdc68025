package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.AcquireAppendOp;
import io.cairn.common.proto.AcquireIdsOp;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.LinkOp;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.MknodOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.OpenOp;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.common.proto.RemoveXattrOp;
import io.cairn.common.proto.RenameOp;
import io.cairn.common.proto.ReturnAppendOp;
import io.cairn.common.proto.ReturnIdsOp;
import io.cairn.common.proto.RmdirOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.SetLockOp;
import io.cairn.common.proto.SetXattrOp;
import io.cairn.common.proto.SymlinkOp;
import io.cairn.common.proto.UnlinkOp;

/** Mutations in few words. */
final class Ops {
    private Ops() {}

    static Mutation.Builder create(long parent, String name) {
        return create(parent, name, 0644, true, false);
    }

    static Mutation.Builder createOpen(long parent, String name) {
        return create(parent, name, 0644, false, true);
    }

    static Mutation.Builder create(
            long parent, String name, int mode, boolean exclusive, boolean open) {
        return Mutation.newBuilder()
                .setCreate(
                        CreateOp.newBuilder()
                                .setParent(parent)
                                .setName(StateRig.name(name))
                                .setMode(Mode.REGULAR | mode)
                                .setExclusive(exclusive)
                                .setOpen(open));
    }

    static Mutation.Builder acquireIds(int count) {
        return Mutation.newBuilder().setAcquireIds(AcquireIdsOp.newBuilder().setCount(count));
    }

    static Mutation.Builder returnIds() {
        return Mutation.newBuilder().setReturnIds(ReturnIdsOp.getDefaultInstance());
    }

    static Mutation.Builder mkdir(long parent, String name) {
        return mkdir(parent, name, 0755);
    }

    static Mutation.Builder mkdir(long parent, String name, int mode) {
        return Mutation.newBuilder()
                .setMkdir(
                        MkdirOp.newBuilder()
                                .setParent(parent)
                                .setName(StateRig.name(name))
                                .setMode(mode));
    }

    static Mutation.Builder symlink(long parent, String name, String target) {
        return Mutation.newBuilder()
                .setSymlink(
                        SymlinkOp.newBuilder()
                                .setParent(parent)
                                .setName(StateRig.name(name))
                                .setTarget(ByteString.copyFromUtf8(target)));
    }

    static Mutation.Builder mknod(long parent, String name, int mode, int rdev) {
        return Mutation.newBuilder()
                .setMknod(
                        MknodOp.newBuilder()
                                .setParent(parent)
                                .setName(StateRig.name(name))
                                .setMode(mode)
                                .setRdev(rdev));
    }

    static Mutation.Builder link(long inode, long parent, String name) {
        return Mutation.newBuilder()
                .setLink(
                        LinkOp.newBuilder()
                                .setInode(inode)
                                .setNewParent(parent)
                                .setNewName(StateRig.name(name)));
    }

    static Mutation.Builder unlink(long parent, String name) {
        return Mutation.newBuilder()
                .setUnlink(UnlinkOp.newBuilder().setParent(parent).setName(StateRig.name(name)));
    }

    static Mutation.Builder rmdir(long parent, String name) {
        return Mutation.newBuilder()
                .setRmdir(RmdirOp.newBuilder().setParent(parent).setName(StateRig.name(name)));
    }

    static Mutation.Builder rename(
            long parent, String name, long newParent, String newName, int flags) {
        return Mutation.newBuilder()
                .setRename(
                        RenameOp.newBuilder()
                                .setParent(parent)
                                .setName(StateRig.name(name))
                                .setNewParent(newParent)
                                .setNewName(StateRig.name(newName))
                                .setFlags(flags));
    }

    static Mutation.Builder setAttr(SetAttrOp.Builder change) {
        return Mutation.newBuilder().setSetAttr(change);
    }

    static Mutation.Builder truncate(long inode, long size) {
        return setAttr(SetAttrOp.newBuilder().setInode(inode).setSize(size));
    }

    static Mutation.Builder grow(long inode, long size) {
        return Mutation.newBuilder().setGrow(GrowOp.newBuilder().setInode(inode).setSize(size));
    }

    static Mutation.Builder open(long inode) {
        return Mutation.newBuilder().setOpen(OpenOp.newBuilder().setInode(inode));
    }

    static Mutation.Builder openToAppend(long inode) {
        return Mutation.newBuilder().setOpen(OpenOp.newBuilder().setInode(inode).setAppend(true));
    }

    static Mutation.Builder acquireAppend(long inode) {
        return Mutation.newBuilder().setAcquireAppend(AcquireAppendOp.newBuilder().setInode(inode));
    }

    /** With the size that the session's appends have made. */
    static Mutation.Builder returnAppend(long inode, long size) {
        return Mutation.newBuilder()
                .setReturnAppend(
                        ReturnAppendOp.newBuilder()
                                .setInode(inode)
                                .setGrow(GrowOp.newBuilder().setSize(size)));
    }

    static FileLock range(long inode, long owner, boolean exclusive, long start, long end) {
        return FileLock.newBuilder()
                .setInode(inode)
                .setOwner(owner)
                .setExclusive(exclusive)
                .setStart(start)
                .setEnd(end)
                .build();
    }

    /** As flock(2) does. */
    static FileLock whole(long inode, long owner, boolean exclusive) {
        return range(inode, owner, exclusive, 0, Long.MAX_VALUE).toBuilder().setFlock(true).build();
    }

    static Mutation.Builder lock(FileLock lock) {
        return Mutation.newBuilder().setSetLock(SetLockOp.newBuilder().setLock(lock));
    }

    static Mutation.Builder unlock(FileLock lock) {
        return Mutation.newBuilder()
                .setSetLock(SetLockOp.newBuilder().setLock(lock).setUnlock(true));
    }

    static Mutation.Builder release(long inode) {
        return Mutation.newBuilder().setRelease(ReleaseOp.newBuilder().setInode(inode).setOpens(1));
    }

    static Mutation.Builder setXattr(long inode, String name, ByteString value, int flags) {
        return Mutation.newBuilder()
                .setSetXattr(
                        SetXattrOp.newBuilder()
                                .setInode(inode)
                                .setName(StateRig.name(name))
                                .setValue(value)
                                .setFlags(flags));
    }

    static Mutation.Builder removeXattr(long inode, String name) {
        return Mutation.newBuilder()
                .setRemoveXattr(
                        RemoveXattrOp.newBuilder().setInode(inode).setName(StateRig.name(name)));
    }
}
