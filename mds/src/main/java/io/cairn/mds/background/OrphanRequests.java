package io.cairn.mds.background;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.ChangeOrphansReply;
import io.cairn.common.proto.ChangeOrphansRequest;
import io.cairn.common.proto.ListOrphansReply;
import io.cairn.common.proto.ListOrphansRequest;
import io.cairn.common.proto.Orphan;
import io.cairn.common.proto.OrphanId;
import io.cairn.common.proto.OrphanState;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.leader.Control;
import io.cairn.mds.leader.EntryLog;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.leader.OrphanPolicy;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.namespace.OrphanedInode;
import io.cairn.mds.namespace.Ownership;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.OrphanPlace;
import io.cairn.mds.proto.OrphansChangedEntry;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What administrators ask of orphaned data ({@code cairn orphans}). The control thread only. */
public final class OrphanRequests {
    private static final Logger LOG = LoggerFactory.getLogger(OrphanRequests.class);

    private static final int MAX_SHOWN_PGS = 16;

    private final Leadership leadership;
    private final EntryLog entries;
    private final ControlReader state;
    private final OrphanRemoval removal;
    private final Control control;

    public OrphanRequests(
            Leadership leadership,
            EntryLog entries,
            ControlReader state,
            OrphanRemoval removal,
            Control control) {
        this.leadership = leadership;
        this.entries = entries;
        this.state = state;
        this.removal = removal;
        this.control = control;
    }

    public void list(RpcRequest request) {
        answered(
                request,
                () -> {
                    ListOrphansRequest asked =
                            Heads.parse(ListOrphansRequest.parser(), request.head());
                    int max =
                            asked.getMax() == 0
                                    ? OrphanRemoval.BATCH
                                    : Math.clamp(asked.getMax(), 1, OrphanRemoval.BATCH);
                    List<OrphanedInode> page =
                            state.orphanedData(asked.getAfterPool(), asked.getAfterInode(), max);
                    ListOrphansReply.Builder reply =
                            ListOrphansReply.newBuilder()
                                    .setMore(page.size() == max)
                                    .setSummary(removal.summary());
                    page.forEach(o -> reply.addOrphans(shown(o, policy())));
                    @Nullable RpcStatus refusal = leadership.refusal(); // still
                    if (refusal != null) {
                        request.fail(refusal);
                    } else {
                        request.reply(reply.build());
                    }
                });
    }

    private static Orphan shown(OrphanedInode orphan, OrphanPolicy policy) {
        return Orphan.newBuilder()
                .setPool(orphan.pool())
                .setInode(orphan.inode())
                .setState(OrphanRemoval.stateOf(orphan, policy))
                .setSince(orphan.record().getFirstSeen())
                .setSeen(orphan.record().getLastSeen())
                .setChunks(orphan.chunks())
                .setBytes(orphan.bytes())
                .addAllPgs(
                        orphan.record().getPlacesList().stream()
                                .limit(MAX_SHOWN_PGS)
                                .map(OrphanPlace::getPg)
                                .toList())
                .setPgCount(orphan.record().getPlacesCount())
                .setOtherPool(orphan.owner() == Ownership.OTHER_POOL)
                .build();
    }

    /** All of those that are named, or none. */
    public void change(RpcRequest request) {
        answered(
                request,
                () -> {
                    ChangeOrphansRequest asked =
                            Heads.parse(ChangeOrphansRequest.parser(), request.head());
                    if (Features.level(state.settings()) < Features.GROWTH) {
                        throw new FsException(
                                Errno.EAGAIN,
                                "this can be done once every metadata server has said that it knows that: start those that are down, and upgrade those of an older release ('cairn status' names both)");
                    }
                    List<OrphanId> changed = changed(asked);
                    if (changed.isEmpty()) {
                        request.reply(ChangeOrphansReply.getDefaultInstance());
                        return;
                    }
                    LOG.info(
                            "an administrator at {} {} orphaned data of {} inodes: {}",
                            RpcAddress.format(request.peer().address()),
                            asked.getRemove()
                                    ? "removes"
                                    : asked.getKeep() ? "keeps" : "no longer keeps",
                            changed.size(),
                            changed.stream()
                                    .map(o -> Long.toHexString(o.getInode()) + "/" + o.getPool())
                                    .toList());
                    log(request, asked, changed);
                });
    }

    private List<OrphanId> changed(ChangeOrphansRequest asked) {
        if (asked.getOrphansCount() > OrphanRemoval.BATCH) {
            throw new FsException(
                    Errno.EINVAL,
                    asked.getOrphansCount()
                            + " inodes at once, "
                            + OrphanRemoval.BATCH
                            + " are the most");
        }
        if (asked.getAllProven()) {
            return proven(asked.getPool());
        }
        List<OrphanId> changed = new ArrayList<>();
        for (OrphanId id : asked.getOrphansList()) {
            @Nullable OrphanedInode orphan = state.orphanedInode(id.getPool(), id.getInode());
            if (orphan == null) {
                throw new FsException(
                        Errno.ENOENT,
                        "no orphaned data of inode 0x%x is known in pool %d"
                                .formatted(id.getInode(), id.getPool()));
            }
            if (asked.getRemove() ? isToGo(orphan) : isOtherwise(orphan, asked.getKeep())) {
                changed.add(id);
            }
        }
        return changed;
    }

    private List<OrphanId> proven(int pool) {
        List<OrphanId> proven = new ArrayList<>();
        long after = 0;
        while (proven.size() < OrphanRemoval.BATCH) {
            List<OrphanedInode> page = state.orphanedData(pool, after, OrphanRemoval.BATCH);
            for (OrphanedInode orphan : page) {
                if (orphan.pool() != pool) {
                    return proven;
                }
                if (OrphanRemoval.stateOf(orphan, policy()) == OrphanState.ORPHAN_PROVEN
                        && proven.size() < OrphanRemoval.BATCH) {
                    proven.add(
                            OrphanId.newBuilder().setPool(pool).setInode(orphan.inode()).build());
                }
                after = orphan.inode();
            }
            if (page.size() < OrphanRemoval.BATCH) {
                return proven;
            }
        }
        return proven;
    }

    /** Whether it is still to be put into the deletion queue; EINVAL where it must not. */
    private boolean isToGo(OrphanedInode orphan) {
        String why =
                switch (OrphanRemoval.stateOf(orphan, policy())) {
                    case ORPHAN_PROVEN, ORPHAN_REMOVING -> "";
                    case ORPHAN_SUSPECTED ->
                            orphan.owner().isOrphan()
                                    ? "is not proven yet: it has to be found again %d s after it was found first, by the next scrub after that ('cairn set orphans.age' changes the time, 'cairn scrub --all' looks now)"
                                            .formatted(policy().ageSeconds())
                                    : "is a file's by now, and forgotten with the next scrub";
                    case ORPHAN_KEPT -> "is kept: 'cairn orphans unkeep' ends that";
                    case ORPHAN_NEVER_GIVEN_OUT ->
                            "is of an id that this metadata service never gave out: it may be a file's that was lost with newer metadata, and is not removed";
                    case ORPHAN_NO_REGULAR_FILE ->
                            "is of an inode that exists and has no data, such as a directory: it is removed once that inode is gone";
                    case ORPHAN_STATE_UNSPECIFIED, UNRECOGNIZED ->
                            throw new IllegalStateException("no state");
                };
        if (!why.isEmpty()) {
            throw new FsException(
                    Errno.EINVAL, "data of inode 0x%x %s".formatted(orphan.inode(), why));
        }
        return !orphan.isRemoving();
    }

    private static boolean isOtherwise(OrphanedInode orphan, boolean keep) {
        if (orphan.isRemoving()) {
            throw new FsException(
                    Errno.EINVAL, "data of inode 0x%x is being removed".formatted(orphan.inode()));
        }
        return orphan.record().getKept() != keep;
    }

    private void log(RpcRequest request, ChangeOrphansRequest asked, List<OrphanId> changed) {
        OrphansChangedEntry entry =
                OrphansChangedEntry.newBuilder()
                        .addAllOrphans(changed)
                        .setRemove(asked.getRemove())
                        .setKeep(asked.getKeep() && !asked.getRemove())
                        .build();
        var _ =
                entries.submit(LogEntry.newBuilder().setOrphansChanged(entry))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (failure != null) {
                                        request.fail(leadership.unavailable(failure));
                                    } else {
                                        request.reply(
                                                ChangeOrphansReply.newBuilder()
                                                        .addAllChanged(changed)
                                                        .build());
                                    }
                                },
                                control);
    }

    private OrphanPolicy policy() {
        return OrphanPolicy.of(state.settings());
    }

    private void answered(RpcRequest request, Runnable step) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return;
        }
        try {
            step.run();
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), e.detail()));
        }
    }
}
