package io.cairn.fuse.op;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.LeaseHolder;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.RecalledName;
import io.cairn.fuse.session.LeaseNotifier;
import io.cairn.fuse.session.LeaseNotifier.Inode;
import io.cairn.fuse.session.LeaseNotifier.Name;
import java.util.ArrayList;
import java.util.List;

/**
 * What other clients are about to change: first no answer that was asked before is believed any
 * more, then the kernel forgets what it believes. Any thread.
 */
final class Recalls implements LeaseHolder {
    private final NodeIds nodes;
    private final KernelLeases leases;
    private final LeaseNotifier kernel;

    Recalls(NodeIds nodes, KernelLeases leases, LeaseNotifier kernel) {
        this.nodes = nodes;
        this.leases = leases;
        this.kernel = kernel;
    }

    @Override
    public void recalled(ReadRecall recall, Runnable forgotten) {
        leases.recalled(recall);
        List<Inode> inodes = new ArrayList<>();
        for (long inode : recall.getInodesList()) {
            if (isMounted(inode)) {
                inodes.add(new Inode(nodes.node(inode), leases.isYoung(inode)));
            }
        }
        List<Name> names = new ArrayList<>();
        for (RecalledName name : recall.getNamesList()) {
            if (isMounted(name.getDirectory())) {
                names.add(new Name(nodes.node(name.getDirectory()), name.getName().toByteArray()));
            }
        }
        kernel.forget(names, inodes, forgotten);
    }

    /** The root of the name space has no node where another directory is mounted. */
    private boolean isMounted(long inode) {
        return inode != CairnClient.ROOT_INODE || nodes.rootInode() == inode;
    }
}
