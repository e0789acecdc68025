package io.cairn.fuse.op;

import io.cairn.common.proto.Attr;
import io.cairn.fuse.op.KernelLeases.Asked;
import io.cairn.fuse.session.LeaseNotifier.Inode;
import io.cairn.fuse.session.LeaseNotifier.Name;
import java.util.ArrayList;
import java.util.List;

/**
 * An operation of this mount that changes names or attributes. The leader asks nobody to forget
 * what they themselves change, so that is done here. Of its own, Linux (fs/fuse/dir.c) sees to the
 * names of the operation, and notes that attributes of the inodes are no longer true; but an answer
 * that was asked before, and that it looks at only now, makes them true again. Therefore they are
 * invalidated when the operation has ended and before it is answered: Linux then ignores attributes
 * in answers to what was asked before that.
 *
 * <p>Where the caller was killed, Linux has unlocked the directory and looks at no answer: then
 * names and attributes are forgotten as if another client had changed them. One operation: first
 * its names and inodes, then its end; no two threads at once.
 */
final class OwnChange {
    private final MountContext mount;
    private final Asked asked;
    private final List<Long> inodes = new ArrayList<>(3);
    private final List<NameOf> names = new ArrayList<>(2);
    private boolean xattrs;

    private record NameOf(long directory, byte[] name) {}

    OwnChange(MountContext mount) {
        this.mount = mount;
        this.asked = mount.leases().asked();
    }

    Asked asked() {
        return asked;
    }

    /**
     * How long a name may be believed that the operation has made. Before {@link #ended}, by which
     * it is noted as changed. The kernel holds the lock of the directory until it has looked at the
     * answer, so the lease may be recalled until then.
     */
    long nameNanos(long directory, byte[] name, Attr made) {
        return mount.leases().nameNanos(asked, directory, name, made.getNameLeaseMicros());
    }

    /** Its attributes. */
    OwnChange of(long inode) {
        inodes.add(inode);
        return this;
    }

    /** Its attributes and extended attributes. */
    OwnChange ofXattrs(long inode) {
        xattrs = true;
        return of(inode);
    }

    /** What the name means, and the attributes of the directory. */
    OwnChange of(long directory, byte[] name) {
        names.add(new NameOf(directory, name));
        if (!inodes.contains(directory)) {
            inodes.add(directory);
        }
        return this;
    }

    /**
     * It was carried out, or will not be; the answer comes next.
     *
     * @param waiting whether the kernel still waits for it, and so has the inodes in use: else it
     *     may be about to drop them, and to invalidate them would wait for that
     */
    void ended(boolean waiting) {
        KernelLeases leases = mount.leases();
        if (!leases.held()) {
            return;
        }
        inodes.forEach(leases::changed);
        if (xattrs) {
            inodes.forEach(leases::changedXattrs);
        }
        names.forEach(name -> leases.changed(name.directory, name.name));
        leases.settle();
        if (!waiting) {
            return; // untold() follows
        }
        for (long inode : inodes) {
            mount.notifier().leases().invalidateNow(mount.nodes().node(inode));
        }
    }

    /** The kernel did not take the answer, or is told that nobody knows the outcome. */
    void untold() {
        if (mount.leases().held()) {
            mount.notifier()
                    .leases()
                    .forget(
                            names.stream().map(n -> new Name(node(n.directory), n.name)).toList(),
                            inodes.stream().map(inode -> new Inode(node(inode), false)).toList(),
                            () -> {});
        }
    }

    private long node(long inode) {
        return mount.nodes().node(inode);
    }
}
