package io.cairn.mds.lease;

import io.cairn.common.proto.Attr;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.mds.lease.ReadLeases.Loan;
import io.cairn.mds.proto.ApplyReply;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a session may believe of the inodes that it has made, so that it need not ask at once for
 * what it was just told; and of those that it has opened to append, at which offset. Nothing of:
 *
 * <ul>
 *   <li>attributes of what was there before: others may have it open to write;
 *   <li>answers that are repeated: the state has gone on since;
 *   <li>changes of attributes: a kernel before Linux 6.16 believes the answer whatever it was told
 *       to forget while the change was on its way;
 *   <li>what a later mutation of the same batch may have changed again;
 *   <li>what the session has made with an id of its own: its programs have had their answer.
 * </ul>
 */
public final class LeasedResults {
    private LeasedResults() {}

    /** When the answer is sent. */
    public static List<MutationResult> of(
            ReadLeases leases, MutateRequest batch, ApplyReply reply) {
        List<MutationResult> results = reply.getResultsList();
        if (!leases.borrows(batch.getSession())) {
            return results;
        }
        @Nullable Loan loan = leases.loan(batch.getSession(), reply.getIndex());
        if (loan == null) {
            return results;
        }
        List<MutationResult> lent = new ArrayList<>(results);
        Set<Long> changedLater = new HashSet<>();
        for (int i = results.size() - 1; i >= reply.getRepeatedResults(); i--) {
            MutationResult result = results.get(i);
            if (result.getErrno() != 0) {
                continue;
            }
            Mutation mutation = batch.getMutations(i);
            if (!namesOrOpens(mutation)) {
                break; // what it has changed is not known here
            }
            Attr attr = result.getAttr();
            Attr.Builder told = attr.toBuilder();
            long directory = directory(mutation);
            boolean early = mutation.getOwnInode() != 0;
            boolean made = hasMade(mutation, result);
            boolean lends = made || mutation.getOpen().getAppend();
            if (!early && lends && !changedLater.contains(attr.getInode())) {
                told.setAttrLeaseMicros(loan.attributes(attr.getInode()));
                told.setNoXattrs(made);
            }
            if (!early && directory != 0) {
                told.setNameLeaseMicros(loan.names(directory));
            }
            lent.set(i, result.toBuilder().setAttr(told).build());
            changedLater.add(attr.getInode());
            changedLater.add(directory);
        }
        return loan.end() ? lent : results;
    }

    private static boolean namesOrOpens(Mutation m) {
        return m.hasOpen() || directory(m) != 0;
    }

    /** Whether the inode did not exist before: then it has no extended attributes yet. */
    private static boolean hasMade(Mutation m, MutationResult result) {
        return switch (m.getOpCase()) {
            case CREATE -> result.getCreated();
            case MKDIR, SYMLINK, MKNOD -> true;
            default -> false;
        };
    }

    /** In which the mutation makes a name; 0: it makes none. */
    private static long directory(Mutation m) {
        return switch (m.getOpCase()) {
            case CREATE -> m.getCreate().getParent();
            case MKDIR -> m.getMkdir().getParent();
            case SYMLINK -> m.getSymlink().getParent();
            case MKNOD -> m.getMknod().getParent();
            case LINK -> m.getLink().getNewParent();
            default -> 0;
        };
    }
}
