package io.cairn.mds.background;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.CheckInodesReply;
import io.cairn.common.proto.CheckInodesRequest;
import io.cairn.common.proto.FoundOrphan;
import io.cairn.common.proto.ReportOrphansReply;
import io.cairn.common.proto.ReportOrphansRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.OrphansFoundEntry;
import io.cairn.mds.session.Mutations;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers the scrubs of data servers: which inodes are no file's ({@link #check}), and notes what
 * they have found of them in the replicated state ({@link #report}).
 *
 * <p>Right to answer is a leader under its lease whose map is not older than the asking server's:
 * it has applied every creation whose file that server can have been given data of. One whose map
 * is older was restored from a backup, or is of another time; it says nothing, and {@link
 * #newerEpoch} warns.
 *
 * <p>{@link #check} on a thread of its own, as it reads from the database; {@link #report} on the
 * control thread.
 */
public final class OrphanLooks {
    private static final Logger LOG = LoggerFactory.getLogger(OrphanLooks.class);

    private static final int MAX_INODES = 4096;

    /** Of all data servers: a look is a point query, which most often goes to the device. */
    private static final int CHECKS_PER_SECOND = 20_000;

    private final Leadership leadership;
    private final CurrentMap map;
    private final ControlReader state;
    private final Mutations mutations;
    private final EntryLog entries;
    private final Control control;
    private final NanoClock clock;
    private final Pace pace = new Pace();
    private volatile long newerEpoch;

    /**
     * @param mutations give out inode ids
     */
    public OrphanLooks(
            Leadership leadership,
            CurrentMap map,
            ControlReader state,
            Mutations mutations,
            EntryLog entries,
            Control control,
            NanoClock clock) {
        this.leadership = leadership;
        this.map = map;
        this.state = state;
        this.mutations = mutations;
        this.entries = entries;
        this.control = control;
        this.clock = clock;
        pace.begin(clock.nanos());
    }

    /** An epoch that a data server has and this state has not; 0 if there is none. Any thread. */
    public long newerEpoch() {
        return newerEpoch > map.get().epoch() ? newerEpoch : 0;
    }

    public void check(RpcRequest request) {
        CheckInodesRequest asked = Heads.parse(CheckInodesRequest.parser(), request.head());
        requireAtMost(asked.getInodesCount());
        if (refused(request, asked.getMapEpoch())) {
            return;
        }
        if (pace.allowed(CHECKS_PER_SECOND, clock.nanos()) < asked.getInodesCount()) {
            request.fail(
                    RpcStatus.fail(
                            Errno.EAGAIN, Advice.RETRY, "the leader is asked of too many inodes"));
            return;
        }
        pace.took(asked.getInodesCount());
        List<Integer> orphans =
                state.orphansAmong(PgHash.poolOf(asked.getPg()), asked.getInodesList());
        if (!refused(request, asked.getMapEpoch())) { // still, after it was read
            request.reply(CheckInodesReply.newBuilder().addAllOrphans(orphans).build());
        }
    }

    public void report(RpcRequest request) {
        ReportOrphansRequest found = Heads.parse(ReportOrphansRequest.parser(), request.head());
        requireAtMost(found.getFoundCount());
        if (refused(request, found.getMapEpoch())) {
            return;
        }
        if (Features.level(state.settings()) < Features.GROWTH) {
            request.fail(
                    RpcStatus.fail(
                            Errno.EAGAIN,
                            Advice.RETRY,
                            "not every metadata server knows of orphaned data yet"));
            return;
        }
        if (map.get().pg(found.getPg()) == null || !ascends(found.getFoundList())) {
            throw new FsException(
                    Errno.EINVAL,
                    "not what a look at placement group %x can find".formatted(found.getPg()));
        }
        note(request, found);
    }

    private void note(RpcRequest request, ReportOrphansRequest found) {
        LogEntry.Builder entry =
                LogEntry.newBuilder()
                        .setOrphansFound(
                                OrphansFoundEntry.newBuilder()
                                        .setPg(found.getPg())
                                        .setInodes(found.getInodes())
                                        .setBytes(found.getBytes())
                                        .addAllFound(found.getFoundList())
                                        .setUnlisted(found.getUnlisted())
                                        .setUnlistedBytes(found.getUnlistedBytes()));
        List<Long> ids = found.getFoundList().stream().map(FoundOrphan::getInode).toList();
        var _ =
                mutations
                        .submitWithIds(entry, ids)
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (failure != null) {
                                        request.fail(leadership.unavailable(failure));
                                    } else if (reply.getErrno() != 0) {
                                        request.fail(
                                                RpcStatus.fail(
                                                        Errno.of(reply.getErrno()),
                                                        reply.getDetail()));
                                    } else {
                                        request.reply(ReportOrphansReply.getDefaultInstance());
                                    }
                                },
                                control);
    }

    private static boolean ascends(List<FoundOrphan> found) {
        for (int i = 1; i < found.size(); i++) {
            if (Long.compareUnsigned(found.get(i - 1).getInode(), found.get(i).getInode()) >= 0) {
                return false;
            }
        }
        return true;
    }

    private static void requireAtMost(int inodes) {
        if (inodes > MAX_INODES) {
            throw new FsException(
                    Errno.EINVAL, inodes + " inodes, " + MAX_INODES + " are the most");
        }
    }

    /** Whether this member may not answer, or not that server: then it has said so. */
    private boolean refused(RpcRequest request, long mapEpoch) {
        @Nullable RpcStatus refusal = leadership.refusal();
        long own = map.get().epoch();
        if (refusal == null && mapEpoch > own) {
            if (newerEpoch < mapEpoch) {
                newerEpoch = mapEpoch;
                LOG.error(
                        "a data server has map epoch {}, this metadata service has {}: its state is"
                                + " older than the data, as one from a backup is",
                        mapEpoch,
                        own);
            }
            refusal =
                    RpcStatus.fail(
                            Errno.EAGAIN,
                            Advice.RETRY,
                            "map epoch %d is not known here, only %d".formatted(mapEpoch, own));
        }
        if (refusal != null) {
            request.fail(refusal);
        }
        return refusal != null;
    }
}
