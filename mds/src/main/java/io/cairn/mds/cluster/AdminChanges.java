package io.cairn.mds.cluster;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.Features;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How an administrator's request is answered: by a leader that may, once every member knows such
 * maps, and after the change that it asks for is made. The control thread only.
 */
final class AdminChanges {
    private static final String LATER =
            " once every metadata server has said that it knows that: start those that are down, and"
                    + " upgrade those of an older release ('cairn status' names both)";
    static final String MOVES_LATER = "placement groups move" + LATER;
    static final String KNOWN_LATER = "this can be done" + LATER;

    private final Leadership leadership;
    private final MapChanges changes;
    private final IntSupplier featureLevel;

    /**
     * @param featureLevel of the group: what all members know
     */
    AdminChanges(Leadership leadership, MapChanges changes, IntSupplier featureLevel) {
        this.leadership = leadership;
        this.changes = changes;
        this.featureLevel = featureLevel;
    }

    /** A leader that may answer does the step, and says what it throws. */
    void answered(RpcRequest request, Runnable step) {
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

    /** Whether all members know maps in which groups move. */
    boolean isPlacing() {
        return featureLevel.getAsInt() >= Features.RECOVERY;
    }

    /** EAGAIN where groups do not move. */
    void requireMoving() {
        if (!isPlacing()) {
            throw new FsException(Errno.EAGAIN, MOVES_LATER);
        }
    }

    /** EAGAIN where not all members know what {@link Features#ELASTIC} brought. */
    void requireElastic() {
        if (featureLevel.getAsInt() < Features.ELASTIC) {
            throw new FsException(Errno.EAGAIN, KNOWN_LATER);
        }
    }

    /** Whether all members know what {@link Features#GROWTH} brought. */
    boolean isGrowing() {
        return featureLevel.getAsInt() >= Features.GROWTH;
    }

    /** Whether all members know maps in which placement groups are merged. */
    boolean isMerging() {
        return featureLevel.getAsInt() >= Features.MERGING;
    }

    /** EAGAIN where they do not. */
    void requireGrowth() {
        if (!isGrowing()) {
            throw new FsException(Errno.EAGAIN, KNOWN_LATER);
        }
    }

    /**
     * Changes the map and answers.
     *
     * @param reply from the map before and after
     */
    void change(
            RpcRequest request,
            Function<ClusterMap, MapUpdate.@Nullable Builder> edit,
            BiFunction<ClusterMap, ClusterMap, MessageLite> reply) {
        List<ClusterMap> before = new ArrayList<>();
        var _ =
                changes.change(
                                base -> {
                                    before.clear();
                                    before.add(base);
                                    return edit.apply(base);
                                })
                        .whenComplete((now, failure) -> {
                            if (failure instanceof FsException e && e.errno() != Errno.EAGAIN) {
                                request.fail(RpcStatus.fail(e.errno(), e.detail()));
                            } else if (failure != null) {
                                request.fail(leadership.unavailable(failure));
                            } else {
                                request.reply(reply.apply(before.getLast(), now));
                            }
                        });
    }
}
