package io.cairn.mds.cluster;

import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.mds.leader.Leadership;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the addresses of the metadata service in the cluster map, where clients and data servers
 * learn of members that are not in their configuration. The control thread only.
 */
public final class MembersInMap {
    private static final Logger LOG = LoggerFactory.getLogger(MembersInMap.class);

    private final Leadership leadership;
    private final CurrentMap map;
    private final MapChanges changes;
    private boolean busy;

    public MembersInMap(Leadership leadership, CurrentMap map, MapChanges changes) {
        this.leadership = leadership;
        this.map = map;
        this.changes = changes;
    }

    /** This member leads from now on. */
    public void begin() {
        busy = false;
    }

    /** Called periodically by a leader. */
    public void tick() {
        List<MdsMember> present = leadership.members();
        if (busy || map.get().mds().equals(present)) {
            return;
        }
        busy = true;
        var _ =
                changes.change(base ->
                                base.mds().equals(present)
                                        ? null
                                        : MapUpdate.newBuilder().addAllMds(present))
                        .whenComplete((changed, failure) -> {
                            busy = false;
                            if (failure != null) {
                                LOG.warn(
                                        "the members are not in the map yet: {}",
                                        failure.getMessage());
                            }
                        });
    }
}
