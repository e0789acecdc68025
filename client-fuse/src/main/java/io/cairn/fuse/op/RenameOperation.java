package io.cairn.fuse.op;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.LookupReply;
import io.cairn.fuse.op.KernelLeases.Asked;
import io.cairn.fuse.session.FuseRequest;
import io.cairn.fuse.session.LeaseNotifier.Name;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * One rename. The kernel takes what it believes of the old name over to the new one, for as long as
 * it believed the old one; but the lease of the new name is another. So that is asked for, if there
 * is anything left to believe, before the kernel is answered. Where there is none, or another
 * client was faster, the kernel is told that all names are old, and later forgets this one: until
 * it is answered it holds the lock that forgetting a single name needs. Any thread.
 */
final class RenameOperation {
    private final MountContext mount;
    private final FuseRequest request;
    private final long parent;
    private final byte[] name;
    private final long newParent;
    private final byte[] newName;
    private final boolean exchange;
    private final OwnChange change;

    RenameOperation(
            MountContext mount,
            FuseRequest request,
            long parent,
            byte[] name,
            long newParent,
            byte[] newName,
            boolean exchange) {
        this.mount = mount;
        this.request = request;
        this.parent = parent;
        this.name = name;
        this.newParent = newParent;
        this.newName = newName;
        this.exchange = exchange;
        this.change = mount.change().of(parent, name).of(newParent, newName);
    }

    /**
     * @param flags RENAME_…
     */
    void start(int flags) {
        CompletableFuture<Attr> renamed =
                mount.client().rename(parent, name, newParent, newName, flags);
        if (mount.leases().held()) {
            mount.thenChanged(request, change, renamed.thenApply(this::moved), this::answer);
        } else {
            mount.then(request, renamed, attr -> request.replyEmpty());
        }
    }

    /** Its time of change is another. */
    private Attr moved(Attr attr) {
        if (attr.getInode() != 0) {
            change.of(attr.getInode());
        }
        return attr;
    }

    /** After the change was noted. False is said by who answers, if that is later. */
    private boolean answer(Attr moved) {
        KernelLeases leases = mount.leases();
        long until = leases.believedUntil(parent, name);
        if (exchange) {
            long other = leases.believedUntil(newParent, newName);
            return leases.isOver(until) && leases.isOver(other)
                    ? request.replyEmpty()
                    : replyForgetting();
        }
        if (leases.isOver(until)) {
            return request.replyEmpty();
        }
        Asked asked = leases.asked();
        var _ =
                mount.client()
                        .find(newParent, newName)
                        .whenComplete((reply, failure) -> {
                            boolean covered =
                                    failure == null && isCovered(moved, until, asked, reply);
                            if (!(covered ? request.replyEmpty() : replyForgetting())) {
                                change.untold();
                            }
                        });
        return true;
    }

    private boolean isCovered(Attr moved, long until, Asked asked, LookupReply reply) {
        return reply.hasAttr()
                && reply.getAttr().getInode() == moved.getInode()
                && mount.leases()
                        .moved(
                                until,
                                asked,
                                newParent,
                                newName,
                                reply.getAttr().getNameLeaseMicros());
    }

    private boolean replyForgetting() {
        boolean all = mount.notifier().leases().forgetAllNamesNow();
        boolean told = request.replyEmpty();
        if (!all) {
            List<Name> both =
                    List.of(
                            new Name(mount.nodes().node(parent), name),
                            new Name(mount.nodes().node(newParent), newName));
            mount.notifier().leases().forget(both, List.of(), () -> {});
        }
        return told;
    }
}
